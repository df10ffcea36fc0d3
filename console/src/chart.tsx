import { useEffect, useRef } from 'preact/hooks';
import UPlot from 'uplot';

/** One line of a chart. */
export interface Series {
  readonly name: string;
  /** Name of a colour of the style sheet. */
  readonly colour: string;
  readonly values: readonly (number | null)[];
  readonly filled?: boolean;
}

interface ChartProps {
  readonly title: string;
  /** Milliseconds since 1970. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
  readonly show: (value: number) => string;
  /** Distances between two lines of the scale that may be chosen, such as powers of two; those of decimals when absent. */
  readonly distances?: number[] | undefined;
}

const HEIGHT = 180;
/** Height of the times below a chart, and width of the values beside it, in px. */
const AXIS = { height: 32, width: 64 };

/** A chart over time. Its numbers are also a table, for readers of the screen. */
export function Chart({ title, times, series, show, distances }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const draw = (): UPlot =>
      new UPlot(optionsOf(element, { series, show, distances }), dataOf(times, series), element);
    let plot = draw();
    const again = (): void => {
      plot.destroy();
      plot = draw();
    };
    const sizes = new ResizeObserver(() =>
      plot.setSize({ width: element.clientWidth, height: HEIGHT }),
    );
    sizes.observe(element);
    const theme = window.matchMedia('(prefers-color-scheme: dark)');
    theme.addEventListener('change', again);
    return () => {
      theme.removeEventListener('change', again);
      sizes.disconnect();
      plot.destroy();
    };
  }, [times, series]);
  return (
    <figure class="chart">
      <figcaption>
        {title}
        <span class="legend">
          {series.map(({ name, colour }) => (
            <span key={name} class={`key ${colour}`}>
              {name}
            </span>
          ))}
        </span>
      </figcaption>
      <div ref={place} aria-hidden="true" />
      <details>
        <summary>Numbers</summary>
        <div class="scroll" tabIndex={0} role="region" aria-label={`Numbers: ${title}`}>
          <table>
            <thead>
              <tr>
                <th scope="col">From (UTC)</th>
                {series.map(({ name }) => (
                  <th key={name} scope="col" class="number">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {times.map((at, row) => (
                <tr key={at}>
                  <td>{new Date(at).toISOString().slice(0, 16).replace('T', ' ')}</td>
                  {series.map(({ name, values }) => {
                    const value = values[row] ?? null;
                    return (
                      <td key={name} class="number">
                        {value === null ? '–' : show(value)}
                      </td>
                    );
                  })}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </details>
    </figure>
  );
}

function dataOf(times: readonly number[], series: readonly Series[]): UPlot.AlignedData {
  return [times.map((at) => at / 1000), ...series.map(({ values }) => [...values])];
}

/** Times of an axis in UTC: the day where it begins, else the time. */
function clockOf(_plot: UPlot, ticks: readonly number[]): string[] {
  return ticks.map((seconds) => {
    const text = new Date(seconds * 1000).toISOString();
    return text.slice(11, 16) === '00:00' ? text.slice(5, 10) : text.slice(11, 16);
  });
}

/** Which values are drawn as points: all where there is room, else those that no line reaches. */
function pointsOf({ data }: UPlot, series: number, show: boolean): number[] | null {
  if (show) return null;
  const values = data[series]!;
  return [...values.keys()].filter(
    (at) => values[at] != null && values[at - 1] == null && values[at + 1] == null,
  );
}

function optionsOf(
  element: HTMLElement,
  { series, show, distances }: Pick<ChartProps, 'series' | 'show' | 'distances'>,
): UPlot.Options {
  const style = getComputedStyle(element);
  const colour = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  const axis = {
    stroke: colour('faint'),
    grid: { stroke: colour('line'), width: 1 },
    ticks: { show: false },
    font: '12px system-ui, sans-serif',
  };
  return {
    width: element.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, points: { size: 6 } },
    tzDate: (seconds) => UPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
    scales: { y: { range: (_plot, _least, most) => [0, Math.max(1, most * 1.1)] } },
    axes: [
      { ...axis, size: AXIS.height, values: clockOf },
      {
        ...axis,
        size: AXIS.width,
        values: (_plot, ticks) => ticks.map(show),
        ...(distances !== undefined && { incrs: distances }),
      },
    ],
    series: [
      {},
      ...series.map(({ name, colour: own, filled }) => ({
        label: name,
        stroke: colour(own),
        width: 1.5,
        points: { size: 4, filter: pointsOf },
        ...(filled === true ? { fill: `${colour(own)}22` } : {}),
      })),
    ],
  };
}
