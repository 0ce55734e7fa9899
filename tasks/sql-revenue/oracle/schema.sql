-- The tables as sales has them.
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE orders (
    id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL, placed_on TEXT NOT NULL,
    status TEXT NOT NULL
);
CREATE TABLE order_lines (
    order_id INTEGER NOT NULL, article TEXT NOT NULL, quantity INTEGER NOT NULL,
    price_cents INTEGER NOT NULL
);
