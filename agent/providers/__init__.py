"""The user's settings of providers, from flags, models.json, auth.json and key files; the choice of provider and
model; and the test of a key.

Facts about models and providers that come with zot are in `agent.model`.
"""
