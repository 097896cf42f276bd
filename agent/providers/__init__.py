"""The user's settings of providers, in files and flags: models.json, auth.json and key files; the provider and the
model that a run uses; and whether a key is accepted.

Facts about models and providers that come with zot are in `agent.model`.
"""
