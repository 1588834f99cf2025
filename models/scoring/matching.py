"""Which alarm belongs to which incident (metrics section 2). Pure, and blind to order."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from relume.dataset import LABELLED, Incident
from relume.models.scoring.alarm import Alarm
from relume.models.scoring.attempt import SECOND, ScoredAttempt, ScoreSettings, window_of
from relume.verdict import Kind

_EITHER_WAY = frozenset({Kind.HANG, Kind.CRASH})
"""What a hang that a watchdog ended may be called."""


@dataclass(frozen=True, slots=True)
class AlarmGroup:
    """Alarms of one attempt and kind that count as one: its time is that of the first.

    What the scheduler told is apart from what was detected. `alarms` are in the order of time, at
    least one.
    """

    alarms: tuple[Alarm, ...]

    @property
    def first(self) -> Alarm:
        """The one that counts."""
        return self.alarms[0]


@dataclass(frozen=True, slots=True)
class Found:
    """An incident with the alarm that found it, and the further ones of the same incident.

    `told` are those that only repeat the scheduler's word.
    """

    incident: Incident
    alarm: AlarmGroup
    repeats: tuple[AlarmGroup, ...] = ()
    told: tuple[AlarmGroup, ...] = ()

    @property
    def settled(self) -> Alarm | None:
        """What was said last when no more evidence was waited for; null when that never came."""
        said = [one for one in self.alarms if one.settled]
        return max(said, key=alarm_order) if said else None

    @property
    def alarms(self) -> tuple[Alarm, ...]:
        """All of them, group by group."""
        groups = (self.alarm, *self.repeats, *self.told)
        return tuple(one for group in groups for one in group.alarms)


@dataclass(frozen=True, slots=True)
class Told:
    """What is only known from the scheduler's word, of an incident that nothing else found.

    `incident` is null when there is none.
    """

    incident: Incident | None
    groups: tuple[AlarmGroup, ...]

    @property
    def alarms(self) -> tuple[Alarm, ...]:
        """All of them, group by group."""
        return tuple(one for group in self.groups for one in group.alarms)


@dataclass(frozen=True, slots=True)
class Matching:
    """What became of the alarms and the incidents of one attempt.

    Attributes
    ----------
    found
        Incidents that were found.
    transient
        Incidents too short to be acted on that were found all the same: they are neither true nor
        false.
    missed, transient_missed
        Incidents that were not.
    false_alarms
        Alarms of no incident.
    ignored
        Alarms of no incident, in an interval that isn't scored.
    told
        What the scheduler told of no incident, or of one that is missed all the same.
    """

    found: tuple[Found, ...] = ()
    transient: tuple[Found, ...] = ()
    missed: tuple[Incident, ...] = ()
    transient_missed: tuple[Incident, ...] = ()
    false_alarms: tuple[AlarmGroup, ...] = ()
    ignored: tuple[AlarmGroup, ...] = ()
    told: tuple[Told, ...] = ()


def match(attempt: ScoredAttempt, settings: ScoreSettings) -> Matching:
    """Match the alarms of an attempt with its incidents, as many of them as can be.

    Of several incidents an alarm is of the one whose window ends first, unless a later alarm could
    then find none: no other assignment finds more. An alarm and an incident of which one has no
    time are matched by kind alone. Alarms that claim no failure (*benign*, *unknown*) are none.
    """
    incidents = sorted(attempt.incidents or (), key=_incident_order)
    said = group_alarms(attempt.alarms, settings)
    own = [_incidents_of(group, incidents, attempt, settings) for group in said]
    told_only = [group.first.told_by_scheduler for group in said]
    finders = _assign([() if only else at for only, at in zip(told_only, own, strict=True)])
    finding = set(finders.values())
    repeats: dict[int, list[AlarmGroup]] = defaultdict(list)
    told: dict[int, list[AlarmGroup]] = defaultdict(list)
    lone: list[AlarmGroup] = []
    for number, group in enumerate(said):
        if not own[number]:
            lone.append(group)
        elif number not in finding:
            further = told if told_only[number] else repeats
            further[_latest_begun(sorted(own[number]), incidents, group)].append(group)
    short = {i for i, one in enumerate(incidents) if _is_transient(one, attempt, settings)}
    found = {
        i: Found(incidents[i], said[finders[i]], tuple(repeats[i]), tuple(told[i]))
        for i in sorted(finders)
    }
    missed = {i: one for i, one in enumerate(incidents) if i not in finders}
    untimely = [group for group in lone if _is_ignored(group.first, attempt)]
    lone = [group for group in lone if not _is_ignored(group.first, attempt)]
    return Matching(
        found=tuple(one for i, one in found.items() if i not in short),
        transient=tuple(one for i, one in found.items() if i in short),
        missed=tuple(one for i, one in missed.items() if i not in short),
        transient_missed=tuple(one for i, one in missed.items() if i in short),
        false_alarms=tuple(group for group in lone if not group.first.told_by_scheduler),
        ignored=tuple(untimely),
        told=(
            *(Told(one, tuple(told[i])) for i, one in missed.items() if told[i]),
            *(Told(None, (group,)) for group in lone if group.first.told_by_scheduler),
        ),
    )


def group_alarms(alarms: Iterable[Alarm], settings: ScoreSettings) -> list[AlarmGroup]:
    """Make one alarm of those of a kind that come within `dedup_seconds` of the first.

    Alarms without a time can't be told apart: those of a kind are one. What the scheduler told is
    by itself. The result is in the order of time.
    """
    counted = sorted((one for one in alarms if one.kind in LABELLED), key=_sort_of)
    groups: list[AlarmGroup] = []
    for _, of_kind in groupby(counted, key=_sort_of):
        groups += _in_groups(sorted(of_kind, key=alarm_order), settings)
    return sorted(groups, key=lambda group: alarm_order(group.first))


def alarm_order(alarm: Alarm) -> tuple[object, ...]:
    """Sort key: by time, those without one last; equal times by what they say, for certain."""
    return (alarm.time is None, alarm.time or 0, alarm.kind.value, alarm.settled, repr(alarm))


def _sort_of(alarm: Alarm) -> tuple[Kind, bool]:
    return alarm.kind, alarm.told_by_scheduler


def _in_groups(ordered: Sequence[Alarm], settings: ScoreSettings) -> Iterator[AlarmGroup]:
    dedup = settings.dedup_seconds * SECOND
    members: list[Alarm] = []
    for alarm in ordered:
        first = members[0].time if members else None
        # Those without a time come last, so a first one without it has only such after it.
        is_apart = alarm.time is not None if first is None else _is_past(alarm, first + dedup)
        if members and is_apart:
            yield AlarmGroup(tuple(members))
            members = []
        members.append(alarm)
    if members:
        yield AlarmGroup(tuple(members))


def _is_past(alarm: Alarm, last: float) -> bool:
    return alarm.time is None or alarm.time > last


def _assign(own: Sequence[Sequence[int]]) -> dict[int, int]:
    """Return which group finds which incident, as many as can be, the first groups first.

    `own` holds the incidents that each group may be of. Where all of them are taken, one of the
    groups that took them moves on to a free one, or makes the next move on (augmenting paths).
    """
    finders: dict[int, int] = {}
    taken: dict[int, int] = {}
    for group in range(len(own)):
        reached, free = _reach(group, own, finders)
        while free is not None:
            taker = reached[free]
            left = taken.get(taker)
            finders[free], taken[taker], free = taker, free, left
    return finders


def _reach(
    group: int, own: Sequence[Sequence[int]], finders: Mapping[int, int]
) -> tuple[dict[int, int], int | None]:
    """Return the nearest free incident, and by which group each one on the way was reached."""
    reached: dict[int, int] = {}
    queue = deque([group])
    while queue:
        taker = queue.popleft()
        for place in own[taker]:
            if place not in reached:
                reached[place] = taker
                if place not in finders:
                    return reached, place
                queue.append(finders[place])
    return reached, None


def _incidents_of(
    group: AlarmGroup,
    incidents: Sequence[Incident],
    attempt: ScoredAttempt,
    settings: ScoreSettings,
) -> list[int]:
    """Return the places of the incidents that a group may be of, the first to end first."""

    def ends(place: int) -> tuple[bool, int, int]:
        first, last = window_of(incidents[place], attempt.end, settings)
        return (True, 0, place) if first is None or last is None else (False, last, place)

    own = (i for i, one in enumerate(incidents) if _is_of(group, one, attempt, settings))
    return sorted(own, key=ends)


def _is_of(
    group: AlarmGroup, incident: Incident, attempt: ScoredAttempt, settings: ScoreSettings
) -> bool:
    kind = group.first.kind
    if kind is not incident.kind and not (
        incident.watchdog and {kind, incident.kind} <= _EITHER_WAY
    ):
        return False
    time = group.first.time
    first, last = window_of(incident, attempt.end, settings)
    if time is None or first is None:
        return True
    return first <= time and (last is None or time <= last)


def _latest_begun(places: Sequence[int], incidents: Sequence[Incident], group: AlarmGroup) -> int:
    """Of several incidents that an alarm repeats, the one that began last before it."""
    time = group.first.time
    onsets = [(place, incidents[place].onset) for place in places]
    begun = [place for place, onset in onsets if time is None or onset is None or onset <= time]
    return (begun or places)[-1]


def _is_transient(incident: Incident, attempt: ScoredAttempt, settings: ScoreSettings) -> bool:
    """Whether it was over before anybody could act.

    A crash has no length: it is transient only when the attempt outlived it.
    """
    if incident.onset is None or incident.end is None:
        return False
    if incident.end - incident.onset >= settings.min_actionable(incident.kind) * SECOND:
        return False
    if incident.kind is not Kind.CRASH:
        return True
    late = round(settings.late_seconds * SECOND)
    return attempt.end is not None and attempt.end > incident.end + late


def _is_ignored(alarm: Alarm, attempt: ScoredAttempt) -> bool:
    time = alarm.time
    return time is not None and any(one.start <= time <= one.end for one in attempt.ignore)


def _incident_order(incident: Incident) -> tuple[bool, int, str]:
    return incident.onset is None, incident.onset or 0, incident.incident_id
