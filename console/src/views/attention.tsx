import { digest, EVER, time } from '../format.ts';
import { address, Link } from '../router.tsx';
import type { AttentionFacts, ServiceState } from '../types.ts';

/** Something that needs attention, and the page that says more. */
interface Item {
  readonly text: string;
  /** Absent for what no page of the console shows. */
  readonly to?: string;
}

/** Pages that say more about a part of readiness. */
const PAGES: Readonly<Record<string, string>> = {
  policy: 'policy',
  policies: 'policy',
  keys: 'keys',
  tables: 'catalog',
  store: 'catalog',
  audit: 'integrity',
  checkpoints: 'integrity',
  limits: address('trail', { since: '24h', decision: 'limited' }),
};
/** Parts without a page of their own are mostly backends, whose failures are in the trail. */
const FAILURES = address('trail', { since: '24h', status: '5xx' });

interface AttentionProps {
  readonly state: ServiceState;
  readonly facts: AttentionFacts;
}

export function Attention({ state: { ready, policy }, facts }: AttentionProps) {
  const parts = (ready.parts ?? []).filter(({ status }) => status !== 'ok');
  const items: readonly Item[] = [
    ...parts.map(({ part, status, why }) => ({
      text: `${part} is ${status}${why === undefined ? '' : `: ${why}`}`,
      to: PAGES[part] ?? FAILURES,
    })),
    ...itemsOf(facts),
  ];
  const isWell = ready.status === 'ok' && items.length === 0;
  return (
    <section class={`attention ${isWell ? 'well' : 'ill'}`} aria-label="Attention">
      <p>
        <strong>
          {ready.status === 'ok' ? 'The service is ready.' : `The service is ${ready.status}.`}
        </strong>{' '}
        Policy <code title={policy.digest}>{digest(policy.digest)}</code> decides.
        {isWell && ' Nothing needs attention.'}
      </p>
      {ready.status !== 'ok' && ready.parts === undefined && (
        <p>Why is shown to callers with the right to manage, at /readyz.</p>
      )}
      {items.length > 0 && (
        <ul class="plain">
          {items.map(({ text, to }) => (
            <li key={text}>{to === undefined ? text : <Link to={to}>{text}</Link>}</li>
          ))}
        </ul>
      )}
    </section>
  );
}

function itemsOf(facts: AttentionFacts): readonly Item[] {
  const { verification, canaries, keys_ending, keys_frozen, certificate_ends } = facts;
  const items: Item[] = canaries.map(({ subject, object, canary, decision_id, began }) => ({
    text: `${subject ?? 'Somebody'} asked for a canary of ${canary} in ${object ?? 'an object'} at ${time(began)}`,
    to: address(`request/${decision_id}`, { began }),
  }));
  for (const { id, subject } of keys_frozen) {
    items.push({
      text: `The key ${id} of ${subject} is frozen`,
      to: address('keys', { text: id }),
    });
  }
  for (const { id, subject, expires } of keys_ending) {
    const text = `The key ${id} of ${subject} ends at ${time(expires ?? '')}`;
    items.push({ text, to: address('keys', { text: id }) });
  }
  if (certificate_ends !== null) {
    items.push({ text: `The certificate of the listener ends at ${time(certificate_ends)}` });
  }
  if (verification !== null && verification.findings > 0) {
    const text = `The verification of ${time(verification.began)} had ${verification.findings} findings`;
    items.push({ text, to: 'integrity' });
  }
  if (facts.flagged > 0) {
    const number = `${facts.flagged}${facts.more_flagged ? ' or more' : ''}`;
    const text = `${number} ${facts.flagged === 1 ? 'request is' : 'requests are'} flagged`;
    items.push({ text, to: address('trail', { since: EVER, review: 'flagged' }) });
  }
  return items;
}

/** The policies of all gateways, and until when the log was verified. */
export function Assurance({ facts }: { readonly facts: AttentionFacts }) {
  const { gateways, verification } = facts;
  return (
    <div class="cards">
      <section class="card">
        <h2>Policy of each gateway</h2>
        <ul class="plain">
          {gateways.map(({ gateway, digest: text, own }) => (
            <li key={gateway}>
              <code title={text}>{digest(text)}</code> {gateway}
              {own && <span class="faint"> (this one)</span>}
            </li>
          ))}
        </ul>
      </section>
      <section class="card">
        <h2>Log verified</h2>
        {verification === null ? (
          <p>Nobody has verified the log here yet.</p>
        ) : (
          <p>
            Until{' '}
            <strong>
              {verification.to === null ? 'no signed record' : `${time(verification.to)} UTC`}
            </strong>
            , by {verification.subject ?? 'the service'} at {time(verification.began)}, with{' '}
            {verification.findings} findings.
          </p>
        )}
        <p>
          <Link to="integrity">Verify it now</Link>
        </p>
      </section>
    </div>
  );
}
