import type { PolicyFinding } from '../policy-types.ts';

/** The kind of a finding, readable without its colour. */
export function Kind({ kind }: { readonly kind: PolicyFinding['kind'] }) {
  return <span class={`decision ${kind === 'fault' ? 'deny' : 'other'}`}>{kind}</span>;
}

interface FindingsProps {
  readonly title: string;
  readonly findings: readonly PolicyFinding[];
}

/** Findings as a list, with their places. */
export function Findings({ title, findings }: FindingsProps) {
  return (
    <section class="card" aria-label={title}>
      <h2>{title}</h2>
      {findings.length === 0 && <p class="faint">None.</p>}
      <ul class="plain findings">
        {findings.map((one) => (
          <li key={`${one.file} ${one.line} ${one.text}`}>
            <Kind kind={one.kind} />{' '}
            <code>
              {one.file}
              {one.line === null ? '' : `:${one.line}`}
            </code>{' '}
            {one.text}
          </li>
        ))}
      </ul>
    </section>
  );
}
