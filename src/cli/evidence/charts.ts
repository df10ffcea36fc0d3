import type { Zone } from '../output/zone.ts';
import { html, type Html } from './html.ts';

const HOUR_MILLIS = 3_600_000;
/** Widths of a bar, in hours; the narrowest is chosen that needs no more bars than fit. */
const STEPS = [1, 2, 3, 6, 12, 24, 48, 168, 720, 8760];
const MOST_BARS = 96;

const [WIDTH, HEIGHT] = [960, 200];
const EDGE = { left: 56, right: 8, top: 10, bottom: 24 };

type Counts = Readonly<Record<'allowed' | 'denied' | 'others', number>>;

interface Bar {
  /** Milliseconds since 1970. */
  readonly from: number;
  readonly counts: Counts;
}

/** Requests over time as stacked bars. @param hours Counts by hours since 1970 */
export function timeChart(hours: ReadonlyMap<number, Counts>, zone: Zone): Html {
  const bars = barsOf(hours);
  if (bars.length === 0) return html`<p class="none">No request in this period.</p>`;
  const most = Math.max(...bars.map(({ counts }) => sumOf(counts)));
  const scale = (HEIGHT - EDGE.top - EDGE.bottom) / most;
  const pitch = (WIDTH - EDGE.left - EDGE.right) / bars.length;
  const lines = [0, Math.ceil(most / 2), most].map((value) => gridLine(value, scale));
  const last = bars.length - 1;
  const labels = [...new Set([0, Math.floor(last / 2), last])].map((at) =>
    label(bars[at]!, EDGE.left + at * pitch + pitch / 2, at, last, zone),
  );
  return html`<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="Requests over time">
      ${lines}${bars.map((bar, at) => barOf(bar, EDGE.left + at * pitch, pitch, scale, zone))}${labels}
    </svg>
    <p class="legend">
      <i class="allowed"></i> allowed <i class="denied"></i> denied <i class="others"></i> other
      results
    </p>`;
}

function barsOf(hours: ReadonlyMap<number, Counts>): readonly Bar[] {
  if (hours.size === 0) return [];
  const [first, last] = [...hours.keys()].reduce(
    ([least, most], hour) => [Math.min(least, hour), Math.max(most, hour)],
    [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
  );
  const step = STEPS.find((width) => (last - first + 1) / width <= MOST_BARS) ?? STEPS.at(-1)!;
  const sums = Array.from({ length: Math.floor((last - first) / step) + 1 }, () => ({
    allowed: 0,
    denied: 0,
    others: 0,
  }));
  for (const [hour, { allowed, denied, others }] of hours) {
    const sum = sums[Math.floor((hour - first) / step)]!;
    sum.allowed += allowed;
    sum.denied += denied;
    sum.others += others;
  }
  return sums.map((counts, at) => ({ from: (first + at * step) * HOUR_MILLIS, counts }));
}

function sumOf({ allowed, denied, others }: Counts): number {
  return allowed + denied + others;
}

function gridLine(value: number, scale: number): Html {
  const y = round(HEIGHT - EDGE.bottom - value * scale);
  return html`<line x1="${EDGE.left}" x2="${WIDTH - EDGE.right}" y1="${y}" y2="${y}" /><text
      x="${EDGE.left - 6}"
      y="${y + 4}"
      text-anchor="end"
      >${value}</text
    > `;
}

function label({ from }: Bar, x: number, at: number, last: number, zone: Zone): Html {
  const anchor = at === 0 ? 'start' : at === last ? 'end' : 'middle';
  return html`<text x="${round(x)}" y="${HEIGHT - 6}" text-anchor="${anchor}"
    >${hourText(from, zone)}</text
  > `;
}

function barOf({ from, counts }: Bar, x: number, pitch: number, scale: number, zone: Zone): Html {
  let y = HEIGHT - EDGE.bottom;
  const parts = (['allowed', 'denied', 'others'] as const).map((kind) => {
    const height = counts[kind] * scale;
    if (height === 0) return '';
    y -= height;
    const width = round(Math.max(1, pitch - 1));
    return html`<rect
      class="${kind}"
      x="${round(x)}"
      y="${round(y)}"
      width="${width}"
      height="${round(height)}"
    />`;
  });
  const about = `${hourText(from, zone)}: ${counts.allowed} allowed, ${counts.denied} denied, ${counts.others} others`;
  return html`<g><title>${about}</title>${parts}</g> `;
}

function hourText(millis: number, zone: Zone): string {
  return zone.shown(new Date(millis).toISOString()).slice(0, 16).replace('T', ' ');
}

/** A share of the largest value of a column, as a bar. */
export function shareBar(value: number, most: number): Html {
  const width = most === 0 ? 0 : Math.max(1, round((100 * value) / most));
  return html`<svg class="share" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
    <rect class="allowed" width="${width}" height="8" />
  </svg>`;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
