"""The fields of `models.json`, in which a user describes models and providers. Pure.

The format is zot's. Every entry is checked by itself, so that a fault names the provider, the model, the field and the
line. A near miss of a field that changes requests or their cost is an error; any other unknown field is named in a
remark, as in `config.json`.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import msgspec

from wire.field_errors import explain, fault_path
from wire.lenient_json import UNREADABLE, Place, fault_of, place_at, places
from wire.unknown_fields import Guarding, UnknownField, Vocabulary, remark, short_name, split_words

FILE = "models.json"

Tokens = Annotated[int, msgspec.Meta(ge=0, le=1_000_000_000)]
Dollars = Annotated[float, msgspec.Meta(ge=0, le=1_000_000)]
Text = Annotated[str, msgspec.Meta(min_length=1, max_length=300)]


class UserModel(msgspec.Struct, frozen=True, rename="camel"):
    """A model. Missing fields of a model that this program knows have the packaged values."""

    id: Text
    """The id in a request, as the server wants it."""
    name: str = ""
    """Name for people. Default: the id."""
    reasoning: bool | None = None
    """Whether the model can think: false leaves `--reasoning` out of its requests. Absent: as its name suggests."""
    context_window: Tokens | None = None
    """Maximum tokens of a prompt and its reply together. Absent or 0: unknown."""
    max_tokens: Tokens | None = None
    """Maximum tokens of a reply. Absent or 0: unknown, and requests ask for 8,192."""
    price_input: Dollars | None = None
    """US dollars per million tokens; 0 means free. Absent: unknown, and so is the cost of a run."""
    price_output: Dollars | None = None
    """Like `priceInput`, for output tokens."""
    price_cache_read: Dollars | None = None
    """Like `priceInput`, for tokens that came from the cache. Absent: the cost is unknown if there are such tokens."""
    price_cache_write: Dollars | None = None
    """Like `priceCacheRead`, for tokens that went to the cache."""
    base_url: str = ""
    """The address for this model. Default: that of the provider."""


class UserProvider(msgspec.Struct, frozen=True, rename="camel"):
    """A provider and its models."""

    base_url: str = ""
    """The address to which `/v1/messages` is added; a `/v1` at its end is left out. Default: the preset's."""
    api: str = ""
    """The API of the server. Only `anthropic` (also `anthropic-messages` and `messages`) works here; zot knows others.
    Default: `anthropic` for the presets of this program, else `openai`, as in zot."""
    auth: str = ""
    """`none`: no credential is sent. Default: the credential that is found."""
    models: tuple[UserModel, ...] = ()


class ModelsFile(msgspec.Struct, frozen=True):
    """`$ZOT_HOME/models.json`."""

    providers: dict[str, UserProvider] = {}
    """Providers by name: presets of this program, or the user's own."""


class ModelsFault(NamedTuple):
    """Why the file cannot be used."""

    message: str
    """The text, with the path of the field."""
    place: Place | None
    """Place of the fault; None if it is in no single place."""


class ModelsFileError(ValueError):
    """The text says what is wrong, and where: `12:7: providers.ollama.models[0].contextWindow: …`."""


MESSAGES = frozenset({"anthropic", "anthropic-messages", "messages"})
"""Words for the Messages API in the field `api`."""
OTHERS = frozenset({"openai", "openai-completions", "openai-chat", "chat", "openai-responses", "responses"})
_PRICE = {
    "priceInput": "inputprice costinput inputcost priceperinput promptprice",
    "priceOutput": "outputprice costoutput outputcost completionprice",
    "priceCacheRead": "cachereadprice cacheread cachedinputprice pricecache",
    "priceCacheWrite": "cachewriteprice cachewrite cachecreationprice",
}
_OTHER_WORDS = {
    "contextWindow": "context contextlength contextsize contexttokens contextlimit window maxcontext",
    "maxTokens": "maxoutput maxoutputtokens outputtokens maxcompletiontokens outputlimit",
    "baseUrl": "url endpoint address apibase host",
    "auth": "authentication",
    "api": "apiformat wireformat protocol",
    "models": "model",
    "reasoning": "thinking reasoningsupported canreason",
    **_PRICE,
}
_ZOTS_OF_MODEL = split_words("type output input api compat reasoningLevelMap")
_ZOTS_OF_PROVIDER = split_words("discover")
"""Fields of zot that have no meaning here."""


def _vocabulary(struct: type[msgspec.Struct], zots: frozenset[str]) -> Vocabulary:
    fields = struct.__struct_encode_fields__
    guarding = {name: Guarding(split_words(_OTHER_WORDS[name])) for name in fields if name in _OTHER_WORDS}
    return Vocabulary(known=zots | {*fields}, guarding=guarding)


_OF_MODEL = _vocabulary(UserModel, _ZOTS_OF_MODEL)
_OF_PROVIDER = _vocabulary(UserProvider, _ZOTS_OF_PROVIDER)
_OF_FILE = Vocabulary(
    known=split_words("providers $schema"), guarding={"providers": Guarding(split_words("provider models vendors"))}
)


def parse(text: bytes) -> tuple[ModelsFile, str]:
    """Returns the content of a file, and a line that names its unknown fields, or "". Raises `ModelsFileError`."""
    try:
        value = msgspec.json.decode(text)
    except UNREADABLE as error:
        what, place = fault_of(text, error)
        quoted = "" if place is None or not place.quoted else f" (the line: {place.quoted})"
        raise ModelsFileError(_with_place(ModelsFault(f"{what}{quoted}", place))) from None
    reader = _Reader(text)
    try:
        return reader.file(value), remark(reader.unread)
    except _FaultyFieldError as error:
        raise ModelsFileError(_with_place(reader.fault(error))) from None


def _with_place(fault: ModelsFault) -> str:
    return fault.message if fault.place is None else f"{fault.place.line}:{fault.place.column}: {fault.message}"


class _FaultyFieldError(Exception):
    def __init__(self, path: str, message: str) -> None:
        super().__init__(message)
        self.path = path


class _Reader:
    def __init__(self, text: bytes) -> None:
        self._text = text
        self.unread: list[UnknownField] = []

    def fault(self, error: _FaultyFieldError) -> ModelsFault:
        at = places(self._text).get(error.path)
        shown_path = error.path if error.path.isprintable() else ascii(error.path)[1:-1]
        message = f"{shown_path}: {error}" if shown_path else str(error)
        return ModelsFault(message, None if at is None else place_at(self._text, at))

    def file(self, value: Any) -> ModelsFile:
        if not isinstance(value, dict):
            raise _FaultyFieldError("", 'it must be an object, {"providers": { … }}')
        self._check_names(value, _OF_FILE, "")
        providers = value.get("providers", {})
        if not isinstance(providers, dict):
            raise _FaultyFieldError("providers", "must be an object: a provider by its name")
        return ModelsFile({name: self._provider(name, fields) for name, fields in providers.items()})

    def _provider(self, name: str, fields: Any) -> UserProvider:
        path = f"providers.{name}"
        if not name.strip() or name != name.strip() or not name.isprintable() or len(name) > 64:
            raise _FaultyFieldError(path, f"{short_name(name)!r} is no name of a provider")
        if not isinstance(fields, dict):
            raise _FaultyFieldError(path, "must be an object")
        self._check_names(fields, _OF_PROVIDER, f"{path}.")
        models = fields.get("models", [])
        if not isinstance(models, list):
            raise _FaultyFieldError(f"{path}.models", "must be a list")
        provider: UserProvider = self._convert({**fields, "models": []}, UserProvider, path)
        if provider.api and provider.api.strip().lower() not in MESSAGES | OTHERS:
            known = ", ".join(sorted(MESSAGES | OTHERS))
            raise _FaultyFieldError(f"{path}.api", f"{provider.api[:40]!r} is not one of {known}")
        if provider.auth.strip().lower() not in ("", "none"):
            raise _FaultyFieldError(f"{path}.auth", f"{provider.auth[:40]!r}: must be none, or be left out")
        read = tuple(self._model(each, f"{path}.models[{index}]") for index, each in enumerate(models))
        seen: set[str] = set()
        for index, model in enumerate(read):
            if model.id in seen:
                raise _FaultyFieldError(f"{path}.models[{index}].id", f"{model.id!r} is there twice")
            seen.add(model.id)
        return msgspec.structs.replace(provider, models=read)

    def _model(self, fields: Any, path: str) -> UserModel:
        if not isinstance(fields, dict):
            raise _FaultyFieldError(path, "must be an object")
        self._check_names(fields, _OF_MODEL, f"{path}.")
        model: UserModel = self._convert(fields, UserModel, path)
        return model

    def _convert(self, fields: dict[str, Any], struct: Any, path: str) -> Any:
        try:
            return msgspec.convert(fields, struct)
        except msgspec.ValidationError as error:
            inner = fault_path(str(error))
            said = explain(struct, str(error)).removeprefix(f"{inner}: ")
            if inner and inner not in fields:  # it is missing
                raise _FaultyFieldError(path, said) from None
            raise _FaultyFieldError(f"{path}.{inner}" if inner else path, said) from None

    def _check_names(self, fields: dict[str, Any], vocabulary: Vocabulary, path: str) -> None:
        for each in vocabulary.unknown(fields):
            if each.is_near_miss:
                raise _FaultyFieldError(f"{path}{each.place}", f"no such field; {each.hint}")
            self.unread.append(each._replace(place=f"{path}{each.place}"))
