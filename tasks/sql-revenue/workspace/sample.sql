INSERT INTO customers VALUES (1, 'Ada'), (2, 'Grace');
INSERT INTO orders VALUES
    (1, 1, '2025-02-03', 'delivered'),
    (2, 1, '2024-12-30', 'delivered'),
    (3, 2, '2025-05-09', 'open');
INSERT INTO order_lines VALUES
    (1, 'tea', 2, 450), (1, 'cup', 1, 900), (2, 'tea', 1, 450), (3, 'pot', 1, 2900);
