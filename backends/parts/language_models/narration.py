"""From decoding steps to the events, metrics and artifacts that every text method hands over.

What it does: times the decoder alone (telling about a pass is not part of the pass), turns each step into a `Pass` of the
trace, previews the text so far, counts right answers on held-out questions, and keeps partial artifacts when a run is stopped.
Where: `backends.parts.decoding_trace` is the shape of the trace; design section 2, "A run, from click to record".
What it does not do: it knows no method; a method gives it a function that starts a decoding.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

import torch

from backends.contract import Artifact, Cancelled, Context, DeadlineExceeded, Event, Metric, Note, Preview, Produced, Progress, Step
from backends.parts.decoding_trace import Committed, DecodingTrace, Pass
from backends.parts.language_models.decoding import Decoding, DecodingResult, DecodingStep, cut_at_stop
from backends.parts.language_models.loading import LanguageModel
from backends.parts.language_models.prompts import decode_answer, encode_prompt
from backends.parts.procedural.questions import TASKS, Question, held_out, is_correct, judge
from backends.parts.text_inputs import TextInputs

PREVIEW_SECONDS = 0.2
UNDECIDED = "□"  # shown for a position that is still masked

Start = Callable[[list[int], torch.Generator], Decoding]
"""Begins a decoding of prompt ids."""


class Narrator:
    """Collects one decoding and tells about it."""

    def __init__(self, model: LanguageModel, method: str, prompt_tokens: int, new_tokens: int, block_size: int) -> None:
        self.model, self.method = model, method
        self.prompt_tokens, self.new_tokens, self.block_size = prompt_tokens, new_tokens, block_size
        self.passes: list[Pass] = []
        self.answer: dict[int, int] = {}  # position -> token
        self.seconds = 0.0
        self.stopped_by = "user"
        self.final: list[int] | None = None
        self._previewed = -PREVIEW_SECONDS

    def follow(self, decoding: Decoding, context: Context) -> Iterator[Event]:
        """Run the decoder pass by pass; yields steps, previews and progress."""
        while True:
            context.check()
            began = time.perf_counter()
            try:
                step = next(decoding)
            except StopIteration as end:
                self.seconds += time.perf_counter() - began
                self._finish(end.value)
                return
            self.seconds += time.perf_counter() - began
            told = self._record(step)
            yield Step(index=told.index, data=told.model_dump(mode="json"))
            now = time.monotonic()
            if now - self._previewed >= PREVIEW_SECONDS:
                self._previewed = now
                yield Preview(artifact=self.text_artifact(partial=True))
                yield Progress(phase="decode", step=len(self.answer), total=self.new_tokens)

    def _record(self, step: DecodingStep) -> Pass:
        committed = []
        for position, token, confidence in step.committed:
            self.answer[position] = token
            committed.append(
                Committed(position=position, token=token, text=self._token_text(token), confidence=min(max(confidence, 0.0), 1.0))
            )
        told = Pass(
            index=step.index,
            seconds=self.seconds,
            rows=step.rows,
            cached=step.cached,
            cache_bytes=step.cache_bytes,
            committed=tuple(committed),
            blocks=step.blocks,
        )
        self.passes.append(told)
        return told

    def _token_text(self, token: int) -> str:
        return "" if token in self.model.stops else decode_answer(self.model.tokenizer, [token])

    def _finish(self, result: DecodingResult) -> None:
        self.final, self.stopped_by = result.tokens, result.stopped_by

    def text(self) -> str:
        """The answer so far; a masked position before a known one shows as a square."""
        if self.final is not None:
            return decode_answer(self.model.tokenizer, self.final)
        if not self.answer:
            return ""
        pieces, run = [], []
        for position in range(max(self.answer) + 1):
            token = self.answer.get(position)
            if token is not None and token in self.model.stops:
                break
            if token is None:
                pieces += [decode_answer(self.model.tokenizer, run), UNDECIDED] if run else [UNDECIDED]
                run = []
            else:
                run.append(token)
        return "".join(pieces) + (decode_answer(self.model.tokenizer, run) if run else "")

    def positions(self) -> int:
        """Generated positions that carry text."""
        if self.final is not None:
            return len(self.final)
        known = [self.answer.get(position, -1) for position in range(max(self.answer, default=-1) + 1)]
        return len(cut_at_stop(known, self.model.stops)[0])

    def text_artifact(self, *, partial: bool) -> Artifact:
        text = self.text()
        facts = {
            "characters": len(text),
            "tokens": self.positions(),
            "undecided": text.count(UNDECIDED) if partial else 0,
            "stopped_by": self.stopped_by,
        }
        return Artifact(
            kind="text", name="answer", media_type="text/plain; charset=utf-8", data=text.encode(), facts=facts, partial=partial
        )

    def trace_artifact(self, *, partial: bool) -> Artifact:
        trace = DecodingTrace(
            method=self.method,
            prompt_tokens=self.prompt_tokens,
            block_size=self.block_size,
            positions=self.positions(),
            passes=tuple(self.passes),
            text=self.text(),
            stopped_by=self.stopped_by,
        )
        facts = {"passes": len(self.passes), "block_size": self.block_size}
        data = trace.model_dump_json().encode()
        return Artifact(kind="decoding_trace", name="trace", media_type="application/json", data=data, facts=facts, partial=partial)

    def metrics(self) -> Iterator[Metric]:
        """What the decoding cost."""
        tokens, passes = self.positions(), len(self.passes)
        yield Metric(name="forward_passes", value=passes, unit="passes", label="Forward passes", better="lower")
        yield Metric(name="tokens", value=tokens, unit="tokens", label="Tokens")
        if self.seconds > 0 and passes:
            yield Metric(name="tokens_per_second", value=tokens / self.seconds, unit="tokens/s", label="Tokens per second", better="higher")
            yield Metric(name="tokens_per_pass", value=tokens / passes, unit="tokens/pass", label="Tokens per pass", better="higher")
            yield Metric(name="decoder_seconds", value=self.seconds, unit="s", label="Time in the decoder", better="lower")
        yield Metric(name="rows_fed", value=sum(told.rows for told in self.passes), unit="rows", label="Rows fed", better="lower")
        yield Metric(
            name="cache_bytes", value=max((told.cache_bytes for told in self.passes), default=0), unit="B", label="Cache", better="lower"
        )


def narrate(
    model: LanguageModel,
    inputs: TextInputs,
    context: Context,
    start: Start,
    *,
    method: str,
    new_tokens: int,
    block_size: int,
    notes: Sequence[Note] = (),
) -> Iterator[Event]:
    """The whole run of a text method: decode the prompt, hand over text and trace, then answer held-out questions."""
    ids = model.encode(inputs.prompt, new_tokens, block_size)
    if model.pocket:
        yield Note(level="info", text="Pocket checkpoint: it knows unit conversions and DNA duplexes, nothing else.")
    for warning in model.warnings:
        yield Note(level="warning", text=warning)
    yield from notes
    yield Progress(phase="decode", step=0, total=new_tokens)
    generator = torch.Generator(device=context.device).manual_seed(context.seed)
    narrator = Narrator(model, method, len(ids), new_tokens, block_size)
    try:
        yield from narrator.follow(start(ids, generator), context)
    except (Cancelled, DeadlineExceeded) as stop:
        narrator.stopped_by = "user" if isinstance(stop, Cancelled) else "time limit"
        yield Produced(artifact=narrator.text_artifact(partial=True))
        yield Produced(artifact=narrator.trace_artifact(partial=True))
        raise
    yield Progress(phase="decode", step=new_tokens, total=new_tokens)
    yield from narrator.metrics()
    yield Produced(artifact=narrator.text_artifact(partial=False))
    yield Produced(artifact=narrator.trace_artifact(partial=False))
    yield from _judge(model, inputs, narrator.text())
    if inputs.held_out > 0:
        yield from _answer_held_out(model, inputs, context, start)


def _judge(model: LanguageModel, inputs: TextInputs, answer: str) -> Iterator[Event]:
    right = judge(inputs.prompt, answer) if model.pocket else None
    if right is not None:
        yield Metric(name="answer_right", value=float(right), sample_size=1, label="This answer is right", better="higher")


def _answer_held_out(model: LanguageModel, inputs: TextInputs, context: Context, start: Start) -> Iterator[Event]:
    if not model.pocket:
        yield Note(
            level="warning",
            text="Held-out questions belong to the pocket checkpoints; this one was not trained on their form, so none were asked.",
        )
        return
    seconds = tokens = right = 0.0
    questions = questions_for(inputs.prompt, inputs.held_out)
    for number, question in enumerate(questions, start=1):
        ids = encode_prompt(model.tokenizer, question.prompt)
        generator = torch.Generator(device=context.device).manual_seed(context.seed)
        began = time.perf_counter()
        result = _decode_quietly(start(ids, generator), context)
        seconds += time.perf_counter() - began
        tokens += len(result.tokens)
        right += is_correct(question, decode_answer(model.tokenizer, result.tokens))
        yield Progress(phase="held-out questions", step=number, total=len(questions))
    yield Metric(name="answers_right", value=right, unit="", label="Answers right", better="higher", sample_size=len(questions))
    yield Metric(
        name="held_out_tokens_per_second", value=tokens / seconds, unit="tokens/s", label="Tokens per second, held-out", better="higher"
    )


def _decode_quietly(decoding: Decoding, context: Context) -> DecodingResult:
    while True:
        context.check()
        try:
            next(decoding)
        except StopIteration as end:
            result: DecodingResult = end.value
            return result


def questions_for(prompt: str, count: int) -> list[Question]:
    """Held-out questions of the prompt's own kind; of both kinds, alternating, when it has neither form."""
    last = prompt.strip().splitlines()[-1] if prompt.strip() else ""
    kinds = [task for task, word in zip(TASKS, ("Convert", "Design a duplex"), strict=True) if last.startswith(word)] or list(TASKS)
    share = -(-count // len(kinds))
    return [question for group in zip(*(held_out(share, kind) for kind in kinds), strict=True) for question in group][:count]
