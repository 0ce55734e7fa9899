INSERT INTO customers VALUES
    (1, 'Zoe'), (2, 'Ben'), (3, 'Cy'), (4, 'Dot'), (5, 'Eve'), (6, 'Ben'), (7, 'Abe');
INSERT INTO orders VALUES
    (1, 1, '2025-01-01', 'delivered'),
    (2, 1, '2025-12-31', 'delivered'),
    (3, 1, '2026-01-01', 'delivered'),
    (4, 2, '2025-06-01', 'delivered'),
    (5, 2, '2025-06-02', 'cancelled'),
    (6, 3, '2024-12-31', 'delivered'),
    (7, 4, '2025-03-03', 'open'),
    (8, 6, '2025-08-08', 'delivered'),
    (9, 6, '2025-08-09', 'delivered'),
    (10, 5, '2025-09-09', 'delivered');
INSERT INTO order_lines VALUES
    (1, 'tea', 2, 450), (1, 'cup', 3, 900), (1, 'pot', 1, 2900),
    (2, 'tea', 1, 450),
    (3, 'tea', 9, 450),
    (4, 'cup', 2, 900), (4, 'tea', 4, 450),
    (5, 'pot', 5, 2900),
    (6, 'pot', 1, 2900),
    (7, 'tea', 1, 450),
    (8, 'pot', 1, 2900),
    (9, 'pot', 2, 2900),
    (10, 'sample', 1, 0);
