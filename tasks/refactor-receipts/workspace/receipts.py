"""Receipts as plain text, 34 characters wide.

An item is a tuple: name, quantity, price of one in cents.
"""

RULE = "-" * 34


def sale(items):
    """What a customer pays."""
    lines = []
    total = 0
    for name, quantity, price in items:
        cents = quantity * price
        total += cents
        label = name if len(name) <= 20 else name[:19] + "~"
        lines.append(f"{label:<20}{quantity:>4}{cents / 100:>10.2f}")
    lines.append(RULE)
    lines.append(f"{'Total':<24}{total / 100:>10.2f}")
    return "\n".join(lines)


def refund(items):
    """What a customer gets back: amounts are negative, quantities are not."""
    lines = ["REFUND"]
    total = 0
    for name, quantity, price in items:
        cents = -quantity * price
        total += cents
        label = name if len(name) <= 20 else name[:19] + "~"
        lines.append(f"{label:<20}{quantity:>4}{cents / 100:>10.2f}")
    lines.append(RULE)
    lines.append(f"{'Total':<24}{total / 100:>10.2f}")
    return "\n".join(lines)


def quote(items):
    """What it would cost: no total, and articles that are not wanted are left out."""
    lines = ["QUOTE"]
    for name, quantity, price in items:
        if quantity == 0:
            continue
        cents = quantity * price
        label = name if len(name) <= 20 else name[:19] + "~"
        lines.append(f"{label:<20}{quantity:>4}{cents / 100:>10.2f}")
    return "\n".join(lines)
