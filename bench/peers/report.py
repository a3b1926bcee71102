# SPDX-License-Identifier: Apache-2.0
"""Writes the results of bench/peers/run: RESULTS.md, a plot a workload (SVG), all figures (JSON)."""
import html
import json

BASE = "pawl, binary"  # ratios are to this row
COLOURS = {"pawl": "#2563eb", "durable": "#64748b", "not durable": "#d9a05b"}


def number(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def with_spread(figure):
    if figure is None:
        return ""
    median, least, most = figure
    return f"{number(median)} ({number(least)}-{number(most)})"


def is_paced(key):
    return key.startswith("paced")


def shown(key):
    """The figure that a workload is about, and its unit."""
    return ("p50_us", "us") if key in ("send_c1_d1",) or is_paced(key) else ("messages_per_s", "messages/s")


def ratio_to(base, figures, name):
    if base is None or "failed" in base or "failed" in figures:
        return ""
    return f"{figures[name][0] / base[name][0]:.2f}" if base[name][0] else ""


def colour_of(row):
    if row["name"].startswith("pawl"):
        return COLOURS["pawl"]
    return COLOURS["durable" if row["durable"] else "not durable"]


def bar(x, y, width, row, figure):
    """A bar with the spread as a line; x(value) is its place."""
    median, least, most = figure
    middle = y + 9
    return (f'<rect x="{x(0):.1f}" y="{y}" width="{x(median) - x(0):.1f}" height="18" fill="{colour_of(row)}"/>'
            f'<path d="M{x(least):.1f} {middle}H{x(most):.1f}M{x(least):.1f} {middle - 4}v8M{x(most):.1f} {middle - 4}v8" stroke="#111" fill="none"/>'
            f'<text x="{min(x(max(median, most)) + 6, width - 4):.1f}" y="{y + 14}">{number(median)}</text>')


def plot(title, unit, bars):
    """A bar chart; `bars`: rows with their (median, least, most)."""
    width, left, right, top, step = 760, 190, 80, 44, 28
    height = top + step * len(bars) + 12
    most = max((figure[2] for _, figure in bars), default=1) or 1

    def x(value):
        return left + value / most * (width - left - right)

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13">',
             f'<rect width="{width}" height="{height}" fill="#fff"/>',
             f'<text x="12" y="24" font-weight="bold">{html.escape(title)}, {unit}</text>']
    for place, (row, figure) in enumerate(bars):
        y = top + step * place
        note = "" if row["durable"] else " *"
        parts.append(f'<text x="{left - 8}" y="{y + 14}" text-anchor="end">{html.escape(row["name"] + note)}</text>')
        parts.append(bar(x, y, width, row, figure))
    return "\n".join([*parts, "</svg>", ""])


def floors_table(results):
    floors = results["floors"]
    lines = ["## Floors of the machine, in the same run", "", "| floor | p50, us | p99, us | per second |", "|---|---|---|---|"]
    for name, title in (("write", "bare durable 4 KiB write (the better of two kinds)"),
                        ("echo", "loopback round trip of 32 bytes, both sides sleep"),
                        ("http", "empty HTTP server, one connection; per second with 256")):
        rate = with_spread(floors.get(f"{name}_per_s"))
        lines.append(f"| {title} | {with_spread(floors[f'{name}_p50_us'])} | {with_spread(floors[f'{name}_p99_us'])} | {rate} |")
    return lines


def workload_table(key, title, rows):
    figure, unit = shown(key)
    base = next((row["workloads"][key] for row in rows if row["name"] == BASE), None)
    lines = [f"## {title}", "", f"![{title}](results/{key}.svg)", "",
             f"| broker | messages/s | p50, us | p99, us | server CPU, us a message | {unit}, ratio to {BASE} |", "|---|---|---|---|---|---|"]
    for row in rows:
        figures = row["workloads"][key]
        name = row["name"] + ("" if row["durable"] else " *")
        if "failed" in figures:
            lines.append(f"| {name} | {figures['failed'].replace('|', '/')[:120]} | | | | |")
            continue
        refused = f"; {figures['errors']} errors" if figures["errors"] else ""
        cells = [with_spread(figures[one]) for one in ("messages_per_s", "p50_us", "p99_us", "cpu_us")]
        cells[0] += refused
        if key.startswith("cycle"):  # the generator fills the queue: its length decides the latency
            cells[1] = cells[2] = ""
        lines.append(f"| {name} | {' | '.join(cells)} | {ratio_to(base, figures, figure)} |")
    return [*lines, ""]


def brokers_table(rows):
    lines = ["## Brokers", "", "| broker | version | acknowledges a send | settings |", "|---|---|---|---|"]
    return lines + [f"| {row['name']} | {row['version']} | {row['acknowledges']} | {row['settings']} |" for row in rows] + [""]


def text_of(results, workloads):
    machine = results["machine"]
    lines = ["# pawl beside other brokers", "",
             f"Written by `bench/peers/run`: medians of {results['passes']} passes of {results['seconds']:g} s, with (least-most). Bodies have "
             f"{results['body']} bytes. The broker runs on one core, the generator on another; every broker is driven by the same generator with "
             "the same connections and depths; over HTTP, each request in flight has a connection of its own. In the rows of batches, each "
             "request carries ten messages, and latencies are those of the batch. Compare ratios within this file, not figures of different machines.", "",
             f"Machine: {machine['cpu']}, {machine['cores']} cores, {machine['memory_bytes'] / 2**30:.0f} GiB, {machine['kernel']}, "
             f"{machine.get('file_system', 'unknown file system')}; pawl {machine['build']}.", "",
             "\\* acknowledges a send before it is on the disk, or is not known to wait for it: no equal of the others.", "",
             *floors_table(results), "", *brokers_table(results["rows"])]
    for key, (title, *_) in workloads.items():
        lines += workload_table(key, title, results["rows"])
    return "\n".join(lines).rstrip() + "\n"


def write(out, results, workloads):
    (out / "results").mkdir(parents=True, exist_ok=True)
    for key, (title, *_) in workloads.items():
        figure, unit = shown(key)
        bars = [(row, row["workloads"][key][figure]) for row in results["rows"] if "failed" not in row["workloads"][key]]
        (out / "results" / f"{key}.svg").write_text(plot(title, unit if unit != "us" else "p50 in us (less is better)", bars))
    (out / "results" / "figures.json").write_text(json.dumps(results, indent=1) + "\n")
    (out / "RESULTS.md").write_text(text_of(results, workloads))
