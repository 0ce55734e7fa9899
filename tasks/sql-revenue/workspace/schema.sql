CREATE TABLE customers (
    id   INTEGER PRIMARY KEY,
    name TEXT NOT NULL
);

CREATE TABLE orders (
    id          INTEGER PRIMARY KEY,
    customer_id INTEGER NOT NULL REFERENCES customers (id),
    placed_on   TEXT NOT NULL,     -- YYYY-MM-DD
    status      TEXT NOT NULL      -- 'open', 'delivered' or 'cancelled'
);

CREATE TABLE order_lines (
    order_id    INTEGER NOT NULL REFERENCES orders (id),
    article     TEXT NOT NULL,
    quantity    INTEGER NOT NULL,
    price_cents INTEGER NOT NULL   -- of one
);
