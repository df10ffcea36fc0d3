import type { ComponentChildren } from 'preact';
import { useApi } from '../api.ts';
import { bytes, count, digest, duration, time } from '../format.ts';
import { address, Link } from '../router.tsx';
import { Decision, StateOf } from '../states.tsx';
import type { RequestDetails } from '../types.ts';
import { Review } from './review.tsx';

interface RequestPageProps {
  readonly decisionId: string;
  readonly began: string | null;
}

export function RequestPage({ decisionId, began }: RequestPageProps) {
  const path = address('request', { decision: decisionId, began: began ?? '' });
  const details = useApi<RequestDetails>(path);
  return (
    <>
      <h1>Request</h1>
      <StateOf of={details} what="the request">
        {(found) => <Details details={found} />}
      </StateOf>
    </>
  );
}

function Details({ details }: { readonly details: RequestDetails }) {
  return (
    <>
      <Summary details={details} />
      <div class="cards">
        <Why details={details} />
        <Who details={details} />
        <Outcome details={details} />
        <Review details={details} />
        <WhatWasRead details={details} />
        <Changes details={details} />
        <Place details={details} />
      </div>
      <Related details={details} />
    </>
  );
}

interface DetailsProps {
  readonly details: RequestDetails;
}

function Summary({ details: { record, began } }: DetailsProps) {
  return (
    <p class="lead">
      <Decision value={record.decision} /> <strong>{record.subject ?? 'nobody known'}</strong> asked
      for <strong>{record.operation ?? 'no operation'}</strong> on{' '}
      <code>{record.object ?? 'no object'}</code> at <span class="mono">{time(began)} UTC</span>.
    </p>
  );
}

function Why({ details: { record, explanation, excerpt } }: DetailsProps) {
  const { why, nearest, policy_kept } = explanation;
  return (
    <Card title="Why" wide>
      {why !== null && <p class="sentence">{why}</p>}
      {excerpt !== null && (
        <figure>
          <figcaption>
            {excerpt.rule}, as the file was then (policy {digest(record.policy_digest)})
          </figcaption>
          <ol class="lines" start={excerpt.first} tabIndex={0} aria-label="Policy lines">
            {excerpt.lines.map((line, at) => {
              const number = excerpt.first + at;
              const decides = number === excerpt.number;
              return (
                <li key={number} value={number} class={decides ? 'deciding' : undefined}>
                  <code>{line === '' ? ' ' : line}</code>
                  {decides && <span class="sr"> (the line that decided)</span>}
                </li>
              );
            })}
          </ol>
        </figure>
      )}
      {excerpt === null && record.rule !== null && (
        <p>
          Decided by <code>{record.rule}</code>.
        </p>
      )}
      {nearest !== null && (
        <p>
          Nearest allow: <code>{nearest.rule}</code>: {nearest.text}.
        </p>
      )}
      {!policy_kept && record.policy_digest !== null && (
        <p class="faint">The text of that policy was not kept, so its line cannot be shown.</p>
      )}
    </Card>
  );
}

function Who({ details: { record, roles } }: DetailsProps) {
  const { principal } = record;
  return (
    <Card title="Who">
      <Facts
        facts={[
          ['Subject', record.subject],
          ['Credential', record.credential],
          ['Groups', principal?.groups.join(', ')],
          ['Roles of the credential', principal?.roles.join(', ')],
          ['Address', record.source_ip],
          ['Client', record.user_agent],
        ]}
      />
      {roles.length > 0 && (
        <>
          <h3>Where its roles come from</h3>
          <ul class="plain">
            {roles.map(({ name, from }) => (
              <li key={name}>
                <strong>{name}</strong> <span class="faint">from</span> {from.join(', ')}
              </li>
            ))}
          </ul>
        </>
      )}
    </Card>
  );
}

function Outcome({ details: { record } }: DetailsProps) {
  const context = Object.entries(record.context);
  return (
    <Card title="Outcome">
      <Facts
        facts={[
          ['Status', record.phase === 'attempt' ? 'no outcome is recorded' : record.status],
          ['Error code', record.code],
          ['Took', duration(record.duration_us)],
          ['Received', bytes(record.bytes_in)],
          ['Sent', bytes(record.bytes_out)],
          ['Backend', record.backend],
          ['Branch', record.branch],
          ['Mode', record.mode],
          ['Further objects', record.objects.join(', ')],
        ]}
      />
      {context.length > 0 && (
        <>
          <h3>Context</h3>
          <Facts facts={context} />
        </>
      )}
      {record.rights.length > 0 && (
        <>
          <h3>Further rights it needed</h3>
          <ul class="plain">
            {record.rights.map(({ action, objects, branch }) => (
              <li key={action + objects.join()}>
                <strong>{action}</strong> on {objects.join(', ')}
                {branch !== null && ` (branch ${branch})`}
              </li>
            ))}
          </ul>
        </>
      )}
    </Card>
  );
}

function WhatWasRead({ details: { record } }: DetailsProps) {
  const { read, restrictions } = record;
  if (read === null && restrictions.length === 0) return null;
  return (
    <Card title="What it read">
      <Facts
        facts={[
          ['Columns', read?.columns.join(', ')],
          ['Rows', read === null ? null : count(read.rows)],
          ['Version', read === null ? null : count(read.version)],
          ['Digest of its filter', read?.filter],
          ['Restrictions', restrictions.join(', ')],
        ]}
      />
    </Card>
  );
}

function Changes({ details: { record } }: DetailsProps) {
  const { commit } = record;
  if (commit === null) return null;
  const number = (value: number | string | null | undefined): string | undefined =>
    value === null || value === undefined ? undefined : count(value);
  return (
    <Card title="What it changed">
      <Facts
        facts={[
          ['Kind', commit.kind],
          [
            'Version',
            `${number(commit.baseVersion) ?? 'none'} → ${number(commit.version) ?? 'none'}`,
          ],
          ['Rows added', number(commit.rowsAdded)],
          ['Rows changed', number(commit.rowsChanged)],
          ['Rows removed', number(commit.rowsRemoved)],
          ['Columns', commit.columns?.join(', ')],
          ['Statement', commit.statement],
          ['Schema', commit.schemaChanged ? 'changed' : 'unchanged'],
          ['Commit rules', commit.rules.join(', ')],
        ]}
      />
    </Card>
  );
}

function Place({ details: { record } }: DetailsProps) {
  return (
    <Card title="In the log" wide>
      <Facts
        facts={[
          ['Decision id', record.decision_id],
          ['Request id', record.request_id],
          ['Instance', record.instance],
          ['Record', count(record.sequence)],
          ['Hash', record.hash],
          ['Policy', record.policy_digest],
        ]}
      />
    </Card>
  );
}

const NEAR_MILLIS = 300_000;

function Related({ details: { record, began } }: DetailsProps) {
  const at = Date.parse(began);
  const near = {
    since: new Date(at - NEAR_MILLIS).toISOString(),
    until: new Date(at + NEAR_MILLIS).toISOString(),
  };
  return (
    <nav aria-label="Related requests" class="related">
      {record.subject !== null && (
        <Link to={address('trail', { ...near, subject: record.subject })}>
          What {record.subject} did within five minutes
        </Link>
      )}
      {record.object !== null && (
        <Link to={address('trail', { ...near, object: record.object })}>
          What else happened to {record.object}
        </Link>
      )}
      {record.subject !== null && record.object !== null && record.operation !== null && (
        <Link
          to={address('access', {
            subject: record.subject,
            action: record.operation,
            object: record.object,
          })}
        >
          Whether the policy of now allows it
        </Link>
      )}
    </nav>
  );
}

interface CardProps {
  readonly title: string;
  /** Whether it holds long lines. */
  readonly wide?: boolean;
  readonly children: ComponentChildren;
}

function Card({ title, wide = false, children }: CardProps) {
  return (
    <section class={wide ? 'card wide-card' : 'card'}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

type Fact = readonly [string, string | number | null | undefined];

/** Names and values; those without a value are left out. */
function Facts({ facts }: { readonly facts: readonly Fact[] }) {
  const known = facts.filter(([, value]) => value !== null && value !== undefined && value !== '');
  return (
    <dl class="facts">
      {known.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
