#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The fires of schedules against Python: local times by zoneinfo in each zone around each change of its clocks from 2020 to 2040,
days by calendar for random cron expressions. Both read the zone files of this machine."""

import calendar
import datetime
import json
import pathlib
import random
import subprocess
import sys
import unittest
import zoneinfo

PAWL = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build/release/pawl").resolve()
FIRES = PAWL.parent / "tests" / "schedule" / "schedule_fires"
UTC = datetime.timezone.utc
DAY = 86_400
BEGIN, END = (int(datetime.datetime(year, 1, 1, tzinfo=UTC).timestamp()) for year in (2020, 2041))
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=UTC)
# The end of a gap, in most zones a whole hour, is none of these times.
QUARTERS = "cron(10/15 * * * ? *)"
STEP, FIRST = 15 * 60, 10 * 60
AROUND = 4 * 3600
MACHINES = ("localtime", "posixrules")  # settings of a machine, which pawl does not take for zones


def setUpModule():
    if not FIRES.exists():
        raise AssertionError(f"{FIRES} is not built: cmake --build {PAWL.parent} --target schedule_fires")


def offset_at(zone, instant):
    """The seconds by which local time is ahead of UTC."""
    return int((EPOCH + datetime.timedelta(seconds=instant)).astimezone(zone).utcoffset().total_seconds())


def zone_names():
    return sorted(zoneinfo.available_timezones() - set(MACHINES))


def bytes_of(name):
    """The file of a zone; aliases have the same one."""
    return next(pathlib.Path(folder, name) for folder in zoneinfo.TZPATH if pathlib.Path(folder, name).exists()).read_bytes()


def changes_of(zone, begin=BEGIN, end=END):
    """The instants at which the offset changes: a week's search, then bisection."""
    found = []
    before = offset_at(zone, begin)
    for at in range(begin + 7 * DAY, end + 7 * DAY, 7 * DAY):
        after = offset_at(zone, at)
        if after != before:
            low, high = at - 7 * DAY, at
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if offset_at(zone, middle) == before else (low, middle)
            found.append(high)
            before = after
    return found


def expected(zone, change, skip):
    """The fires of QUARTERS from AROUND before a change to AROUND after it, by the definition: each local time fires once."""
    fires = set()
    begin, end = change - AROUND, change + AROUND
    local = (begin + min(offset_at(zone, begin), offset_at(zone, end))) // STEP * STEP - STEP + FIRST
    while local <= end + max(offset_at(zone, begin), offset_at(zone, end)):
        naive = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=local)
        instant = int((naive.replace(tzinfo=zone, fold=0).astimezone(UTC) - EPOCH).total_seconds())
        exists = instant + offset_at(zone, instant) == local
        if exists or not skip:
            fires.add(instant if exists else change)
        local += STEP
    return [fire for fire in sorted(fires) if begin < fire <= end]


def fires_of(questions):
    """Answers of schedule_fires for (zone, next or skip, seconds after which, number, expression)."""
    lines = "".join(f"{zone}\t{mode}\t{after * 1000} {count}\t{expression}\n" for zone, mode, after, count, expression in questions)
    done = subprocess.run([FIRES], input=lines, capture_output=True, text=True, timeout=120, check=True)
    answers = done.stdout.splitlines()
    for question, answer in zip(questions, answers, strict=True):
        if answer.startswith("#"):
            raise AssertionError(f"{question}: {answer}")
    return [[int(word) for word in answer.split()] for answer in answers]


class Zones(unittest.TestCase):
    def test_fires_around_each_change_are_those_of_python(self):
        names = zone_names()
        self.assertGreaterEqual(len(names), 400)
        changes, known = {}, {}
        questions, wanted, last = [], [], 0
        for name in names:
            file = bytes_of(name)
            if file not in known:
                zone = zoneinfo.ZoneInfo(name)
                found = changes_of(zone)
                known[file] = found, [(mode, change, expected(zone, change, mode == "skip")) for change in found or [BEGIN] for mode in ("next", "skip")]
            changes[name], compared = known[file]
            questions += [(name, mode, change - AROUND, len(fires), QUARTERS) for mode, change, fires in compared]
            wanted += [fires for _, _, fires in compared]
            last = max([last, *changes[name]])
        wrong = [(question, fires, right) for question, fires, right in zip(questions, fires_of(questions), wanted, strict=True) if fires != right]
        self.assertEqual(wrong[:3], [], f"{len(wrong)} of {len(questions)} differ")
        changing = sum(map(bool, changes.values()))
        self.assertGreater(changing, 150)
        self.assertGreater(last, datetime.datetime(2040, 9, 1, tzinfo=UTC).timestamp(), "beyond the lists of the files, which end in 2037")
        differs = sum(a != b for a, b in zip(wanted[::2], wanted[1::2]))
        self.assertGreater(differs, 3000, "gaps, in which next and skip differ")
        print(f"schedule: {len(names)} zones, {changing} with changes; {len(questions)} changes compared, {sum(map(len, wanted))} fires")

    def test_there_are_no_other_changes(self):
        """Each Sunday noon of all years, in every zone."""
        noons = [datetime.datetime(2020, 1, 5, 12) + datetime.timedelta(weeks=week) for week in range(1096)]
        self.assertEqual(noons[-1].year, 2040)
        known, questions, wanted = {}, [], []
        for name in zone_names():
            file, zone = bytes_of(name), zoneinfo.ZoneInfo(name)
            if file not in known:
                known[file] = [int(noon.replace(tzinfo=zone).timestamp()) for noon in noons]
            questions.append((name, "next", BEGIN, len(noons) + 1, "cron(0 12 ? * 1 2020-2040)"))
            wanted.append(known[file])
        wrong = [question for question, fires, right in zip(questions, fires_of(questions), wanted, strict=True) if fires != right]
        self.assertEqual(wrong, [])

    def test_known_changes_are_among_them(self):
        """The search itself: zones in which it is easy to miss a change."""
        year = lambda at: (EPOCH + datetime.timedelta(seconds=at)).year
        for name, of_year, count in (("Africa/Casablanca", 2026, 2), ("Australia/Lord_Howe", 2026, 2), ("Antarctica/Troll", 2039, 2),
                                     ("Europe/Dublin", 2040, 2), ("Africa/Cairo", 2038, 2), ("Asia/Tokyo", 2030, 0), ("America/Nuuk", 2039, 2)):
            changes = changes_of(zoneinfo.ZoneInfo(name))
            self.assertEqual(sum(year(at) == of_year for at in changes), count, name)

    def test_the_verb_prints_the_same(self):
        for name in ("Europe/Dublin", "Australia/Lord_Howe", "America/Nuuk", "Asia/Kathmandu"):
            zone = zoneinfo.ZoneInfo(name)
            change = ([at for at in changes_of(zone) if at > datetime.datetime(2039, 1, 1, tzinfo=UTC).timestamp()] or [BEGIN])[0]
            right = expected(zone, change, skip=False)
            begin = (EPOCH + datetime.timedelta(seconds=change - AROUND)).strftime("%Y-%m-%dT%H:%M:%SZ")
            done = subprocess.run([PAWL, "schedule", "next", QUARTERS, "--zone", name, "--from", begin, "--count", str(len(right)), "--json"],
                                  capture_output=True, text=True, timeout=30, check=True)
            at = lambda seconds, where: datetime.datetime.fromtimestamp(seconds, where)
            self.assertEqual(json.loads(done.stdout), [
                {"local": at(fire, zone).isoformat(), "weekday": at(fire, zone).strftime("%a"), "utc": at(fire, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}
                for fire in right], name)


def random_values(luck, low, high):
    """A field's text and its set of values."""
    texts, values = [], set()
    for _ in range(luck.choice((1, 1, 2, 3))):
        first, last = luck.randint(low, high), luck.randint(low, high)
        step = luck.randint(1, high - low + 1)
        cyclic = range(first, last + 1) if first <= last else [*range(first, high + 1), *range(low, last + 1)]
        text, chosen = luck.choice(((f"{first}", [first]), ("*", range(low, high + 1)), (f"{first}-{last}", cyclic),
                                    (f"{first}-{last}/{step}", cyclic[::step]), (f"{first}/{step}", range(first, high + 1, step)),
                                    (f"*/{step}", range(low, high + 1, step))))
        texts.append(text)
        values |= set(chosen)
    return ",".join(texts), values


def nearest(year, month, day):
    """The day of the month, Monday to Friday, that is nearest to a day."""
    last = calendar.monthrange(year, month)[1]
    near = [other for other in range(1, last + 1) if calendar.weekday(year, month, other) < 5]
    return min(near, key=lambda other: abs(other - day))


def random_days(luck):
    """Texts of day-of-month and day-of-week, and a function from year, month and last day to the days."""
    kind = luck.choice("dddwwwLNWKlh")
    number, weekday, nth = luck.choice((1, 31, luck.randint(1, 31))), luck.randint(1, 7), luck.randint(1, 5)
    of_week = lambda year, month, day: (calendar.weekday(year, month, day) + 1) % 7 + 1
    if kind == "d":
        text, values = random_values(luck, 1, 31)
        return text, "?", lambda y, m, last: {d for d in values if d <= last}
    if kind == "w":
        text, values = random_values(luck, 1, 7)
        return "?", text, lambda y, m, last: {d for d in range(1, last + 1) if of_week(y, m, d) in values}
    if kind == "L":
        return "L", "?", lambda y, m, last: {last}
    if kind == "N":
        return f"L-{min(number, 30)}", "?", lambda y, m, last: {last - min(number, 30)} - {0, -1, -2}
    if kind == "W":
        return f"{number}W", "?", lambda y, m, last: {nearest(y, m, number)} if number <= last else set()
    if kind == "K":
        return "LW", "?", lambda y, m, last: {nearest(y, m, last)}
    if kind == "l":
        return "?", f"{weekday}L", lambda y, m, last: {max(d for d in range(1, last + 1) if of_week(y, m, d) == weekday)}
    return "?", f"{weekday}#{nth}", lambda y, m, last: set([d for d in range(1, last + 1) if of_week(y, m, d) == weekday][nth - 1:nth])


class Cron(unittest.TestCase):
    def test_random_expressions_have_the_days_of_calendar(self):
        luck = random.Random(36)
        questions, wanted = [], []
        for _ in range(1500):
            minute, minutes = random_values(luck, 0, 59)
            hour, hours = random_values(luck, 0, 23)
            month, months = random_values(luck, 1, 12)
            day, weekday, days = random_days(luck)
            begin = luck.randint(1970, 2190)
            year = f"{begin}-{begin + 4}"
            fires = []
            for y in range(begin, begin + 5):
                for m in sorted(months):
                    for d in sorted(days(y, m, calendar.monthrange(y, m)[1])):
                        midnight = calendar.timegm((y, m, d, 0, 0, 0))
                        fires += [midnight + h * 3600 + n * 60 for h in sorted(hours) for n in sorted(minutes)]
                    if len(fires) > 100:
                        break
                if len(fires) > 100:
                    break
            questions.append(("UTC", "next", calendar.timegm((begin, 1, 1, 0, 0, 0)) - 1, 100, f"cron({minute} {hour} {day} {month} {weekday} {year})"))
            wanted.append(fires[:100])
        wrong = [(question[4], fires[:5], right[:5]) for question, fires, right in zip(questions, fires_of(questions), wanted, strict=True) if fires != right]
        self.assertEqual(wrong[:3], [], f"{len(wrong)} differ")
        self.assertGreater(sum(map(bool, wanted)), 1400)
        self.assertGreater(sum(not fires for fires in wanted), 1)


if __name__ == "__main__":
    unittest.main()
