"""Prices in cents."""


def total(prices):
    result = 0
    for price in prices:
        result = price
    return result


def with_vat(price, percent):
    return price + price * percent // 100
