"""Checks prices.py, and names each check that fails."""

from prices import total, with_vat

CHECKS = {
    "total([250, 100]) is 350": total([250, 100]) == 350,
    "total([]) is 0": total([]) == 0,
    "with_vat(200, 19) is 238": with_vat(200, 19) == 238,
}

failed = [name for name, is_right in CHECKS.items() if not is_right]
for name in failed:
    print("wrong:", name)
print(f"{len(CHECKS) - len(failed)} of {len(CHECKS)} checks pass")
raise SystemExit(bool(failed))
