import { useApi } from '../api.ts';
import { count } from '../format.ts';
import type { RulesInForce } from '../policy-types.ts';
import { address, Link } from '../router.tsx';
import { Empty, StateOf } from '../states.tsx';
import { Tabs } from '../tabs.tsx';
import type { Traffic, TrafficKey } from '../types.ts';
import { Levels } from './levels.tsx';
import { PastCommits } from './past-commits.tsx';
import { RuleLink } from './rights.tsx';

const PERIODS = [
  ['24h', 'Day'],
  ['7d', 'Week'],
  ['30d', 'Month'],
] as const;

/** Commit rules and limits in force, and what they refused. */
export function Rules({ query }: { readonly query: URLSearchParams }) {
  const since = query.get('since') ?? '7d';
  const rules = useApi<RulesInForce>('rules');
  const refused = useApi<Traffic>(address('traffic', { since, decision: 'refused' }));
  const limited = useApi<Traffic>(address('traffic', { since, decision: 'limited' }));
  return (
    <>
      <div class="title">
        <h1>Rules and limits</h1>
        <Tabs
          label="Period"
          tabs={PERIODS.map(([value, name]) => [
            address('rules', { since: value }),
            name,
            value === since,
          ])}
        />
      </div>
      <div class="cards">
        <StateOf of={refused} what="refused commits">
          {(found) => (
            <Breaches
              title="Refused by commit rules"
              traffic={found}
              since={since}
              decision="refused"
              keys={[
                ['rule', 'Rule'],
                ['object', 'Table'],
                ['subject', 'Who'],
              ]}
            />
          )}
        </StateOf>
        <StateOf of={limited} what="limits that were hit">
          {(found) => (
            <Breaches
              title="Limits that were hit"
              traffic={found}
              since={since}
              decision="limited"
              keys={[
                ['subject', 'Who'],
                ['operation', 'Operation'],
              ]}
            />
          )}
        </StateOf>
        <Levels />
      </div>
      <StateOf of={rules} what="rules and limits">
        {(found) => (
          <div class="stack">
            <RuleList of={found.rules} />
            <LimitList of={found.limits} />
            <PastCommits table={query.get('table') ?? ''} since={since} />
          </div>
        )}
      </StateOf>
    </>
  );
}

interface BreachesProps {
  readonly title: string;
  readonly traffic: Traffic;
  readonly since: string;
  readonly decision: string;
  readonly keys: readonly (readonly [TrafficKey, string])[];
}

/** Parameters of the trail for values of a kind; a rule is found by its text. */
const FILTERS = { rule: 'text', object: 'object', subject: 'subject', operation: 'operation' };
/** Values that are shown of each kind. */
const MOST = 5;

function Breaches({ title, traffic, since, decision, keys }: BreachesProps) {
  const { total, values } = traffic;
  return (
    <section class="card" aria-label={title}>
      <h2>{title}</h2>
      <p class="figure">
        <Link to={address('trail', { since, decision })}>{count(total.requests)}</Link>{' '}
        <span class="faint">requests</span>
      </p>
      {total.requests > 0 &&
        keys.map(([key, name]) => (
          <div key={key}>
            <h3>{name}</h3>
            <ul class="plain counts">
              {values[key].slice(0, MOST).map(({ value, requests }) => (
                <li key={value}>
                  <Link
                    to={address('trail', {
                      since,
                      decision,
                      [FILTERS[key as keyof typeof FILTERS]]: value ?? '',
                    })}
                  >
                    {value ?? 'none'}
                  </Link>
                  <span>{count(requests)}</span>
                </li>
              ))}
            </ul>
          </div>
        ))}
    </section>
  );
}

function RuleList({ of }: { readonly of: RulesInForce['rules'] }) {
  return (
    <section aria-label="Commit rules">
      <h2>Commit rules in force</h2>
      {of.length === 0 ? (
        <Empty>
          <p>
            No commit rule is in force. Rules in <code>commits.yaml</code> refuse changes of tables,
            such as drops, large removals or rows that break a check.
          </p>
        </Empty>
      ) : (
        <table class="rows">
          <thead>
            <tr>
              <th scope="col">Rule</th>
              <th scope="col">Tables</th>
              <th scope="col">Demands</th>
              <th scope="col">As it is written</th>
            </tr>
          </thead>
          <tbody>
            {of.map(({ name, rule, tables, requires, enforced, text }) => (
              <tr key={name}>
                <td data-label="Rule">
                  <span>
                    <strong>{name}</strong>
                    <span class="line">
                      <RuleLink rule={rule} />
                    </span>
                    {!enforced && <span class="decision other">recorded only</span>}
                  </span>
                </td>
                <td data-label="Tables" class="mono">
                  {tables.join(', ')}
                </td>
                <td data-label="Demands">{requires.join(', ')}</td>
                <td data-label="Written">
                  <Written name={name} text={text} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function LimitList({ of }: { readonly of: RulesInForce['limits'] }) {
  return (
    <section aria-label="Limits">
      <h2>Limits in force</h2>
      {of.length === 0 ? (
        <Empty>
          <p>
            No limit is in force. Limits in <code>limits.yaml</code> bound how often callers may
            ask, how much at once, and what one request may use.
          </p>
        </Empty>
      ) : (
        <table class="rows">
          <thead>
            <tr>
              <th scope="col">Limit</th>
              <th scope="col">For</th>
              <th scope="col">Bounds</th>
              <th scope="col">As it is written</th>
            </tr>
          </thead>
          <tbody>
            {of.map((limit) => (
              <tr key={limit.name}>
                <td data-label="Limit">
                  <span>
                    <strong>{limit.name}</strong>
                    <span class="line">
                      <RuleLink rule={limit.rule} />
                    </span>
                  </span>
                </td>
                <td data-label="For">
                  {limit.subjects === null ? 'everyone' : limit.subjects.join(', ')}, counted per{' '}
                  {limit.per}
                </td>
                <td data-label="Bounds">{boundsOf(limit).join(', ')}</td>
                <td data-label="Written">
                  <Written name={limit.name} text={limit.text} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function boundsOf({
  rate,
  concurrency,
  budget,
}: RulesInForce['limits'][number]): readonly string[] {
  return [
    ...(rate === null ? [] : [`${rate.text}, ${count(rate.burst)} at once`]),
    ...(concurrency === null ? [] : [`${count(concurrency)} in flight`]),
    ...(budget.length === 0 ? [] : [`${budget.join(', ')} of a request`]),
  ];
}

function Written({ name, text }: { readonly name: string; readonly text: string }) {
  return (
    <pre class="written" tabIndex={0} role="region" aria-label={`Text of ${name}`}>
      {text}
    </pre>
  );
}
