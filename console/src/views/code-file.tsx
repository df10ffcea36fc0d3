import { useState } from 'preact/hooks';
import type { PolicyFinding } from '../policy-types.ts';
import { Kind } from './policy-kind.tsx';

/** Lines that are shown at once; a longer file shows the others on demand. */
const MOST_LINES = 1500;

interface CodeFileProps {
  readonly name: string;
  readonly text: string;
  readonly findings: readonly PolicyFinding[];
}

/** A policy file with its findings at their lines. */
export function CodeFile({ name, text, findings }: CodeFileProps) {
  const [all, setAll] = useState(false);
  const lines = text.replace(/\n$/, '').split('\n');
  const marked = new Set(findings.map(({ line }) => line));
  const shown = lines
    .map((content, at) => ({ content, number: at + 1 }))
    .filter(({ number }) => all || number <= MOST_LINES || marked.has(number));
  return (
    <section class="card file" aria-label={name}>
      <h2>{name}</h2>
      {findings
        .filter(({ line }) => line === null)
        .map((one) => (
          <p key={one.text}>
            <Kind kind={one.kind} /> {one.text}
          </p>
        ))}
      {/* A reader without a mouse scrolls long lines too. */}
      <div class="code" tabIndex={0} role="region" aria-label={`Text of ${name}`}>
        <ol>
          {shown.map(({ content, number }) => (
            <CodeLine
              key={number}
              number={number}
              content={content}
              findings={findings.filter(({ line }) => line === number)}
            />
          ))}
        </ol>
      </div>
      {shown.length < lines.length && (
        <button type="button" onClick={() => setAll(true)}>
          Show all {lines.length} lines
        </button>
      )}
    </section>
  );
}

interface CodeLineProps {
  readonly number: number;
  readonly content: string;
  readonly findings: readonly PolicyFinding[];
}

function CodeLine({ number, content, findings }: CodeLineProps) {
  const kind = findings.some((one) => one.kind === 'fault')
    ? 'fault'
    : findings.length > 0
      ? 'warning'
      : undefined;
  const isComment = content.trimStart().startsWith('#');
  return (
    <li value={number} class={kind}>
      <code class={isComment ? 'comment' : undefined}>{content === '' ? ' ' : content}</code>
      {findings.map((one) => (
        <p key={one.text}>
          <Kind kind={one.kind} /> {one.text}
        </p>
      ))}
    </li>
  );
}
