"""Turns the request of a user into a run that can start: checks it and fills in defaults, but starts nothing."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from agent.cassette import CassetteError, CassettePlayer, CassetteRecorder
from agent.engine.extensions import finding
from agent.model import catalogue
from agent.model.provider import ProviderUnavailable
from agent.model.replay_provider import RecordingProvider, ReplayProvider
from agent.model.thinking_levels import remark
from agent.options import Options, RunRequest
from agent.request_checks import UsageError, check, checked_folder
from agent.run.auto_compaction import THRESHOLD
from agent.run.context_files import NO_CONTEXT, context_text, find_context_files
from agent.run.limits import Budget, unpriced_refusal
from agent.run.system_prompt import date_and_folder, local_additions, system_prompt
from agent.skills.offer import SkillOffer, offer
from supervisor.discovery.admission import Consent
from supervisor.discovery.steps import finish
from supervisor.home.config import ConfigError, load_config
from supervisor.home.repository import repository_root
from supervisor.home.zot_home import zot_home
from wire.reasoning_levels import LEVELS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent.answers.schema import AnswerSchema
    from agent.model.provider import Provider
    from agent.providers.connection import Connect, MakeProvider
    from agent.providers.user_models import KnownModels
    from agent.sessions.choice import OpenedSession
    from agent.transcript import Image
    from agent.trial.trial import Trial
    from supervisor.home.config import Config
    from supervisor.loop.loop import Loop
    from wire.reasoning_levels import Reasoning


TRIAL = "ZOT_TRIAL"
"""The variable `agent.trial.plan.VARIABLE`, which makes a run a trial of `zot ext bisect`."""


class Prepared(msgspec.Struct, frozen=True):
    """A checked run that can start."""

    options: Options
    make_provider: Callable[[Loop], Provider | ProviderUnavailable]
    images: tuple[Image, ...] = ()
    """The images of the prompt."""
    session: OpenedSession | None = None
    """The session that the run goes on with. Its lock is held until its file is closed."""


def prepare(
    request: RunRequest, make: MakeProvider | None = None, ask: Callable[[str, Path], Consent] | None = None
) -> Prepared:
    """Returns the options of the run and a function that makes its provider: without a cassette by `make`, which gets
    the access; by default it has a model worker of its own. `ask` gets the working folder and `$ZOT_HOME`, and returns
    the user's consent to extensions of the project; by default it is that of the request. Raises `UsageError`."""
    trial = _trial() if TRIAL in os.environ else None
    if trial is not None:
        # Many trials are no history, and the extensions of a host cannot be left out.
        wait = trial.extension_wait(request.extension_wait)
        apart = {"keep_session": False, "trace": False, "otel": False, "otel_content": False, "host": None}
        request = msgspec.structs.replace(request, extension_wait=wait, **apart)
    cwd, home = checked_folder(request), request.home or zot_home()
    check(request, cwd, home)
    config = _config(home)
    if trial is not None:
        config = msgspec.structs.replace(config, host=None)
    session = _session(request, home, cwd)
    try:
        return _prepare(request, cwd, home, config, session, make, ask, trial)
    except BaseException:
        if session is not None:
            session.file.close()
        raise


def _prepare(
    request: RunRequest,
    cwd: str,
    home: Path,
    config: Config,
    session: OpenedSession | None,
    make: MakeProvider | None,
    ask: Callable[[str, Path], Consent] | None,
    trial: Trial | None,
) -> Prepared:
    known = _known_models(home)
    catalogue.use(known.models if known is not None else ())
    schema = _answer_schema(request.output_schema)
    more = () if schema is None else (schema.instructions,)
    remarks: tuple[str, ...] = (config.remark,) if config.remark else ()
    remarks += () if session is None else session.remarks(cwd)
    connect, player = None, None
    if request.replay is None:  # a replayed run follows its recording, not the settings
        request, connect, said = _server(request, config, home, known, session, make)
        remarks = (*remarks, *said)
    consent = _consent(request) if ask is None else ask(cwd, home)
    discovery = finish(finding(request, cwd, home, consent, config))
    skills = SkillOffer()
    if request.skills:
        skills = offer(cwd=cwd, home=home, with_users=request.user_skills, extensions=discovery.usable)
    context = find_context_files(home, Path(cwd)) if request.context_files else NO_CONTEXT
    system = _system_prompt(request, home, more, skills.manifest, context_text(context.files, cwd))
    named = [*(skill.path for skill in skills.skills if skill.path), *(file.path for file in context.files)]
    places = _places(named, cwd, home)
    model = request.model or ""
    if request.replay is not None:
        player = _player(request.replay, cwd, places, trial)
        model = model or player.model or catalogue.DEFAULT_MODEL
    if (refused := unpriced_refusal(model, Budget(request.max_cost_usd, request.max_tokens))) is not None:
        raise UsageError(refused)
    images, scaled = _images(request.images, model) if request.images else ((), ())
    recorder = _recorder(request.record, cwd, places) if request.record is not None else None
    worked_out: dict[str, Any] = {
        "cwd": cwd,
        "home": home,
        "model": model,
        "reply_tokens": catalogue.max_tokens(model),
        "system": system,
        "system_end": date_and_folder(date.today(), cwd),  # noqa: DTZ011  the user's own day
        "offered_skills": skills.skills,
        "auto_compact": request.replay is None if request.auto_compact is None else request.auto_compact,
        "compact_at": _compact_at(request, config),
        "answer_schema": schema,
        "copilot": request.copilot or _may_offer(request, config),
        "config": config,
        "remarks": (*remarks, *scaled, *skills.remarks, *context.notices),
        # Skills of an extension that is left out stay: they are files, and requests must not differ for that reason.
        "discovery": discovery if trial is None else trial.cut(discovery),
        "trial": trial,
        "consent": consent,
        "stats_file": None if request.stats is None else Path(request.stats).absolute(),
        "metrics_file": None if request.metrics is None else Path(request.metrics).absolute(),
    }
    options = Options(**{**msgspec.structs.asdict(request), **worked_out})

    def make_provider(loop: Loop) -> Provider | ProviderUnavailable:
        if connect is None:
            assert player is not None
            return ReplayProvider(player)
        made = connect(loop)
        if recorder is None or isinstance(made, ProviderUnavailable):
            return made
        return RecordingProvider(made, recorder)

    return Prepared(options, make_provider, images, session)


def _consent(request: RunRequest) -> Consent:
    return Consent(whole_project=request.trust_project, content=frozenset(request.trusted_content))


def _server(
    request: RunRequest,
    config: Config,
    home: Path,
    known: KnownModels | None,
    session: OpenedSession | None,
    make: MakeProvider | None,
) -> tuple[RunRequest, Connect, tuple[str, ...]]:
    """The request with its model and its reasoning; a function that makes the provider with the endpoint and the
    credential of the run; and lines for the user. A replayed run needs none of these modules."""
    from agent.providers.connection import CONNECTION_ERRORS, Credentials, connection
    from agent.providers.user_models import KnownModels

    known = known or KnownModels()
    provider, wanted, remark = request.provider, request.model, ""
    if session is not None and wanted is None:
        provider, wanted, remark = session.model_for(provider, known.providers)
    elif session is not None and (theirs := session.provider(known.providers)) is not None:
        config = msgspec.structs.replace(config, provider=theirs, model=None)
    given = Credentials(request.api_key, request.api_key_file, request.base_url)
    try:
        more = {} if make is None else {"make": make}
        connect, model, remarks = connection(provider, wanted, given, config=config, home=home, known=known, **more)
    except CONNECTION_ERRORS as error:
        raise UsageError(str(error)) from None
    reasoning, said = _reasoning(request, config, model)
    remarks = (*remarks, *filter(None, (remark, said)))
    return msgspec.structs.replace(request, model=model, reasoning=reasoning), connect, remarks


def _images(paths: tuple[str, ...], model: str) -> tuple[tuple[Image, ...], tuple[str, ...]]:
    """The images of the prompt, and lines for the user about those that were scaled."""
    from agent.images.flag import ImageFileError, read_images

    info = catalogue.find(model)
    try:
        return read_images(paths, window=None if info is None else info.context_window)
    except ImageFileError as error:
        raise UsageError(str(error)) from None


def _reasoning(request: RunRequest, config: Config, model: str) -> tuple[Reasoning | None, str]:
    """How much the model may think; and a line for the user if a flag says so and the model has not this level."""
    if request.reasoning is None:  # the settings are for all models
        return next((level for level in LEVELS if level == config.reasoning), None), ""
    said = remark(model, request.reasoning)
    return request.reasoning, f"--{said}" if said else ""


def _known_models(home: Path) -> KnownModels | None:
    """The content of the user's file. None if there is no file: then its reader is not imported."""
    if not os.path.lexists(home / "models.json"):
        return None
    from agent.providers.user_models import UserModelsError, load_user_models

    try:
        return load_user_models(home)
    except UserModelsError as error:
        raise UsageError(str(error)) from None


def _compact_at(request: RunRequest, config: Config) -> int:
    """The percent of the window at which the conversation is compacted. A flag counts more than the settings."""
    wanted = config.auto_compact_threshold
    return THRESHOLD if wanted is None or (request.auto_compact and not wanted) else wanted


def _may_offer(request: RunRequest, config: Config) -> bool:
    """Whether the settings offer the tools of `--copilot`: not where a flag leaves tools or extensions out, nor where a
    recording says what is offered."""
    return config.copilot and request.discover and request.replay is None and request.tools == RunRequest().tools


def _places(named: Sequence[str], cwd: str, home: Path) -> dict[str, str]:
    """The folders, besides the working folder, that a cassette names by placeholders: those in which the files are that
    the system prompt names. In other requests such a folder is a text like any other, and stays what it is."""
    root = repository_root(Path(cwd)) if named else None
    folders = {"cwd": cwd, "repository": str(root or cwd), "zot_home": str(home), "home": os.path.expanduser("~")}
    innermost = sorted(folders, key=lambda name: len(folders[name]), reverse=True)
    used = {next((name for name in innermost if path.startswith(f"{folders[name]}/")), "cwd") for path in named}
    return {name: folders[name] for name in folders if name in used and name != "cwd"}


def _answer_schema(path: str | None) -> AnswerSchema | None:
    if path is None:
        return None
    from agent.answers.schema import AnswerSchema, AnswerSchemaError

    try:
        return AnswerSchema(path)
    except AnswerSchemaError as error:
        raise UsageError(str(error)) from None


def _system_prompt(request: RunRequest, home: Path, more: tuple[str, ...], skills: str, context: str) -> str:
    try:
        return system_prompt(
            home=home,
            custom=request.system_prompt,
            appended=(*request.append_system_prompt, *more),
            skills=skills,
            context=context,
        )
    except OSError as error:
        raise UsageError(f"{error.filename}: cannot be read: {error.strerror}; fix it or remove it") from None


def _config(home: Path) -> Config:
    try:
        return load_config(home)
    except ConfigError as error:
        raise UsageError(str(error)) from None


def _session(request: RunRequest, home: Path, cwd: str) -> OpenedSession | None:
    """The session that the run goes on with, if it is to go on with one."""
    given = request.continue_last, request.resume, request.session, request.fork
    if given == (False, None, None, False):
        return None
    from agent.sessions.choice import SessionChoice
    from agent.sessions.load import SessionError

    try:
        return SessionChoice(*given, request.keep_session).open(home, cwd)
    except SessionError as error:
        raise UsageError(str(error)) from None


def _trial() -> Trial:
    from agent.trial.trial import Trial, TrialError  # other runs do not load it

    try:
        return Trial.take()
    except TrialError as error:
        raise UsageError(str(error)) from None


def _player(path: str, cwd: str, places: dict[str, str], trial: Trial | None) -> CassettePlayer:
    try:
        if trial is not None:
            return trial.player(path, cwd, places)
        return CassettePlayer.load(path, cwd=cwd, places=places, explain=local_additions)
    except CassetteError as error:
        raise UsageError(f"--replay: {error}") from None


def _recorder(path: str, cwd: str, places: dict[str, str]) -> CassetteRecorder:
    try:
        return CassetteRecorder(path, cwd=cwd, places=places)
    except CassetteError as error:
        raise UsageError(f"--record: {error}") from None
