import { useMemo } from 'preact/hooks';
import { useApi } from '../api.ts';
import { Chart } from '../chart.tsx';
import { brief, bytes, count, duration } from '../format.ts';
import { address, Link } from '../router.tsx';
import { Empty, Figure, StateOf } from '../states.tsx';
import type { AttentionFacts, ServiceState, Step, Traffic, TrafficKey } from '../types.ts';
import { Assurance, Attention } from './attention.tsx';

const PERIODS = [
  ['1h', 'Hour'],
  ['24h', 'Day'],
  ['7d', 'Week'],
  ['30d', 'Month'],
] as const;

/** Fields by one value of which the charts can be narrowed, with the names of their parameters. */
const CHOICES = ['operation', 'subject', 'object', 'backend'] as const;

type Choice = Readonly<Partial<Record<(typeof CHOICES)[number], string>>>;

export function Overview({ query }: { readonly query: URLSearchParams }) {
  const given = query.get('since');
  const since = PERIODS.find(([value]) => value === given)?.[0] ?? '24h';
  const choice: Choice = Object.fromEntries(
    CHOICES.flatMap((name) => (query.has(name) ? [[name, query.get(name)!]] : [])),
  );
  const traffic = useApi<Traffic>(address('traffic', { since, ...choice }));
  const state = useApi<ServiceState>('state');
  const facts = useApi<AttentionFacts>('attention');
  return (
    <>
      <div class="title">
        <h1>Overview</h1>
        <nav class="periods" aria-label="Period">
          {PERIODS.map(([value, name]) => (
            <Link
              key={value}
              to={address('', { since: value, ...choice })}
              current={value === since}
            >
              {name}
            </Link>
          ))}
        </nav>
      </div>
      <StateOf of={state} what="the state of the service">
        {(found) => (
          <StateOf of={facts} what="what needs attention">
            {(known) => (
              <>
                <Attention state={found} facts={known} />
                <Assurance facts={known} />
              </>
            )}
          </StateOf>
        )}
      </StateOf>
      <Chosen choice={choice} since={since} />
      <StateOf of={traffic} what="requests">
        {(found) => <Numbers traffic={found} since={since} choice={choice} />}
      </StateOf>
    </>
  );
}

/** What the charts are narrowed to, and the way back. */
function Chosen({ choice, since }: Pick<NumbersProps, 'choice' | 'since'>) {
  const names = CHOICES.filter((name) => choice[name] !== undefined);
  if (names.length === 0) return null;
  return (
    <nav class="periods" aria-label="Shown requests">
      <span>Only</span>
      {names.map((name) => {
        const { [name]: value, ...others } = choice;
        return (
          <Link key={name} to={address('', { since, ...others })} title={`Without this ${name}`}>
            {name} {value} ×
          </Link>
        );
      })}
      <Link to={trailOf(choice, since)}>Their trail</Link>
    </nav>
  );
}

/** The trail of the requests of some values. */
function trailOf(choice: Choice, since: string, decision = ''): string {
  return address('trail', { since, ...choice, decision });
}

interface NumbersProps {
  readonly traffic: Traffic;
  readonly since: string;
  readonly choice: Choice;
}

function Numbers({ traffic, since, choice }: NumbersProps) {
  const { total, values } = traffic;
  if (total.requests === 0) {
    return (
      <Empty>
        <h2>No requests in this period</h2>
        <p>
          Choose a longer one above, or send a request:{' '}
          <code>curl -H "x-api-key: $KEY" …/v1/namespace/$/list</code>
        </p>
      </Empty>
    );
  }
  return (
    <>
      <dl class="headline">
        <Figure name="Requests" value={brief(total.requests)} />
        <Figure name="Not allowed" value={brief(total.denied)} />
        <Figure name="Failed (5xx)" value={brief(total.failed)} />
        <Limited traffic={traffic} since={since} choice={choice} />
        <Figure name="95 % took at most" value={duration(total.slow)} />
        <Figure name="Sent" value={bytes(total.bytesOut)} />
      </dl>
      <Charts traffic={traffic} />
      <div class="cards tops">
        {TOPS.map(([key, title]) => (
          <Top
            key={key}
            title={title}
            by={key}
            counts={values[key]}
            since={since}
            choice={choice}
          />
        ))}
      </div>
    </>
  );
}

/** Requests that a limit or a budget refused, with the trail of them. */
function Limited({ traffic: { values }, since, choice }: NumbersProps) {
  const of = (decision: string): number =>
    values.decision.find(({ value }) => value === decision)?.requests ?? 0;
  return (
    <div>
      <dt>Limits hit</dt>
      <dd>
        <Link to={trailOf(choice, since, 'limited')}>{brief(of('limited'))}</Link>
        {of('over budget') > 0 && (
          <Link to={trailOf(choice, since, 'over budget')}> + {brief(of('over budget'))}</Link>
        )}
      </dd>
    </div>
  );
}

function Charts({ traffic }: { readonly traffic: Traffic }) {
  const { steps, since, until } = traffic;
  const shown = useMemo(() => {
    const length = (until - since) / steps.length;
    const of = (read: (step: Step) => number | null): (number | null)[] => steps.map(read);
    return {
      times: steps.map((_step, at) => since + at * length),
      requests: [
        { name: 'all', colour: 'accent', values: of((step) => step.requests), filled: true },
        { name: 'not allowed', colour: 'deny', values: of((step) => step.denied) },
      ],
      latency: [
        { name: 'median', colour: 'accent', values: of((step) => step.median) },
        { name: '95 %', colour: 'deny', values: of((step) => step.slow) },
      ],
      sizes: [
        { name: 'sent', colour: 'accent', values: of((step) => step.bytesOut), filled: true },
        { name: 'received', colour: 'deny', values: of((step) => step.bytesIn) },
      ],
    };
  }, [traffic]);
  return (
    <div class="charts">
      <Chart title="Requests" times={shown.times} series={shown.requests} show={brief} />
      <Chart title="Time to answer" times={shown.times} series={shown.latency} show={duration} />
      <Chart
        title="Bytes"
        times={shown.times}
        series={shown.sizes}
        show={bytes}
        distances={POWERS}
      />
    </div>
  );
}

/** Powers of two, as sizes are shown in KiB and MiB. */
const POWERS = Array.from({ length: 50 }, (_, power) => 2 ** power);

const TOPS: readonly (readonly [TrafficKey, string])[] = [
  ['operation', 'Operations'],
  ['subject', 'Who'],
  ['object', 'Objects'],
  ['rule', 'Rules that decided'],
  ['backend', 'Backends'],
];
const MOST = 8;

interface TopProps {
  readonly title: string;
  readonly by: TrafficKey;
  readonly counts: Traffic['values'][TrafficKey];
  readonly since: string;
  readonly choice: Choice;
}

/** The most frequent values of a field: a value narrows the charts, its number of requests leads to them. */
function Top({ title, by, counts, since, choice }: TopProps) {
  const isChoice = CHOICES.some((name) => name === by);
  const trail = (value: string): string =>
    isChoice
      ? trailOf({ ...choice, [by]: value }, since)
      : address('trail', { since, text: value });
  const chosen = (value: string): string =>
    isChoice ? address('', { since, ...choice, [by]: value }) : trail(value);
  return (
    <section class="card">
      <h2>{title}</h2>
      <table class="top">
        <thead>
          <tr>
            <th scope="col">
              <span class="sr">{title}</span>
            </th>
            <th scope="col" class="number">
              Requests
            </th>
            <th scope="col" class="number">
              Not allowed
            </th>
            <th scope="col" class="number">
              Sent
            </th>
          </tr>
        </thead>
        <tbody>
          {counts.slice(0, MOST).map(({ value, requests, denied, bytesOut }) => (
            <tr key={value}>
              <td class="cut">
                {value === null ? (
                  <span class="faint">none</span>
                ) : (
                  <Link to={chosen(value)} title={value}>
                    {value}
                  </Link>
                )}
              </td>
              <td class="number">
                {value === null ? (
                  count(requests)
                ) : (
                  <Link to={trail(value)} title={`Trail of ${value}`}>
                    {count(requests)}
                  </Link>
                )}
              </td>
              <td class="number">{count(denied)}</td>
              <td class="number">{bytes(bytesOut)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
