import { useState } from 'preact/hooks';
import { count, time } from '../format.ts';
import type { Judged, ShownPolicy } from '../policy-types.ts';
import { address, Link } from '../router.tsx';
import { Empty, Failure } from '../states.tsx';
import { Progress, useWork } from '../work.tsx';
import { Cases } from './policy-cases.tsx';
import { Findings } from './policy-kind.tsx';

type Draft = Readonly<Record<string, string | null>>;

const PERIODS = [
  ['1d', 'the last day'],
  ['7d', 'the last 7 days'],
  ['30d', 'the last 30 days'],
  ['90d', 'the last 90 days'],
] as const;

const STAGES = {
  check: 'Checking the files and cases',
  access: 'Comparing whose access changes',
  replay: 'Replaying requests of the audit log',
};

/** Edits the policy files in the page, and asks the service what the change would do. */
export function Proposal({ policy }: { readonly policy: ShownPolicy }) {
  const [draft, setDraft] = useState<Draft>({});
  const [name, setName] = useState('policy.csv');
  const [since, setSince] = useState('7d');
  const [judged, setJudged] = useState('');
  const work = useWork<Judged>('policy/propose', 'check');
  const now = textOf(policy, name);
  const change = (changed: Draft): void =>
    setDraft((before) => withoutSame(policy, { ...before, ...changed }));
  const upload = async (input: HTMLInputElement): Promise<void> => {
    const files = [...(input.files ?? [])];
    const texts = await Promise.all(files.map((file) => file.text()));
    change(Object.fromEntries(files.map((file, at) => [file.name, texts[at] ?? ''])));
    const [first] = files;
    if (first !== undefined && policy.names.includes(first.name)) setName(first.name);
    input.value = '';
  };
  const check = (event: SubmitEvent): void => {
    event.preventDefault();
    setJudged(JSON.stringify(draft));
    work.start({ files: draft, since });
  };
  const changed = Object.keys(draft);
  return (
    <>
      <p class="lead">
        Edit the files, and see what the change would do before anybody makes it. The console writes
        no policy file: it hands out a patch.
      </p>
      <form class="card propose" onSubmit={check}>
        <FileBar policy={policy} draft={draft} name={name} choose={setName} upload={upload} />
        <div>
          <label for="text">Text of {name}</label>
          <textarea
            id="text"
            rows={16}
            spellcheck={false}
            value={draft[name] ?? (draft[name] === null ? '' : (now ?? ''))}
            onInput={(event) => change({ [name]: event.currentTarget.value })}
          />
        </div>
        <div class="submit">
          <div>
            <label for="since">Replay requests of</label>
            <select
              id="since"
              value={since}
              onChange={(event) => setSince(event.currentTarget.value)}
            >
              {PERIODS.map(([value, text]) => (
                <option key={value} value={value}>
                  {text}
                </option>
              ))}
            </select>
          </div>
          <button type="submit" class="primary" disabled={changed.length === 0 || work.running}>
            Check the change
          </button>
          <button
            type="button"
            disabled={changed.length === 0}
            onClick={() => {
              work.stop();
              setDraft({});
            }}
          >
            Discard it
          </button>
          <span class="faint" role="status">
            {changed.length === 0 ? 'Nothing is changed yet.' : `Changed: ${changed.join(', ')}`}
          </span>
        </div>
      </form>
      <Results work={work} isOld={judged !== JSON.stringify(draft)} />
    </>
  );
}

interface FileBarProps {
  readonly policy: ShownPolicy;
  readonly draft: Draft;
  readonly name: string;
  readonly choose: (name: string) => void;
  readonly upload: (input: HTMLInputElement) => Promise<void>;
}

/** Chooses the file that is edited, or takes whole files. */
function FileBar({ policy, draft, name, choose, upload }: FileBarProps) {
  return (
    <div class="bar-of-form">
      <div>
        <label for="file">File</label>
        <select id="file" value={name} onChange={(event) => choose(event.currentTarget.value)}>
          {policy.names.map((each) => (
            <option key={each} value={each}>
              {each}
              {each in draft ? ' (changed)' : textOf(policy, each) === undefined ? ' (new)' : ''}
            </option>
          ))}
        </select>
      </div>
      <div>
        <label for="upload">Or upload files of these names</label>
        <input
          id="upload"
          type="file"
          multiple
          onChange={(event) => void upload(event.currentTarget)}
        />
      </div>
    </div>
  );
}

function textOf({ files }: ShownPolicy, name: string): string | undefined {
  return files.find((one) => one.name === name)?.text;
}

/** A file that is as the folder has it is no change. */
function withoutSame(policy: ShownPolicy, draft: Draft): Draft {
  const entries = Object.entries(draft).map(([name, text]): [string, string | null] => {
    const isNew = textOf(policy, name) === undefined;
    return [name, text === '' && !isNew && name !== 'policy.csv' ? null : text];
  });
  return Object.fromEntries(
    entries.filter(([name, text]) => {
      const now = textOf(policy, name);
      return now === undefined ? text !== '' && text !== null : text !== now;
    }),
  );
}

interface ResultsProps {
  readonly work: ReturnType<typeof useWork<Judged>>;
  /** Whether the draft was changed since it was judged. */
  readonly isOld: boolean;
}

function Results({ work, isOld }: ResultsProps) {
  const { running, error, results } = work;
  const { check, access, replay } = results;
  return (
    <>
      {running && <Progress of={work} names={STAGES} />}
      {error !== undefined && <Failure error={error} retry={work.stop} again="Close" />}
      {check !== undefined && (
        <>
          {isOld && (
            <p class="attention">
              The files were changed again. What follows is about the change as it was checked.
            </p>
          )}
          <Judgement of={check} />
        </>
      )}
      {access !== undefined && <AccessChanges of={access} />}
      {replay !== undefined && <Replayed of={replay} />}
    </>
  );
}

function Judgement({ of: check }: { readonly of: NonNullable<Judged['check']> }) {
  const failing = check.cases.filter(({ fault }) => fault !== null);
  const save = (): void => {
    const url = URL.createObjectURL(new Blob([check.patch], { type: 'text/x-diff' }));
    const link = document.createElement('a');
    link.href = url;
    link.download = 'policy.patch';
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  };
  return (
    <>
      <div class={`attention verdict${check.refused ? ' ill' : ''}`} role="status">
        <p>
          <strong>
            {check.refused
              ? 'Gateways would refuse this change, or a line of it can never act.'
              : 'Gateways would accept this change.'}
          </strong>{' '}
          {check.cases.length === 0
            ? 'There are no cases.'
            : `${count(check.cases.length - failing.length)} of ${count(check.cases.length)} cases hold.`}
        </p>
        <button type="button" onClick={save}>
          Download the patch
        </button>
        <p class="faint">
          Apply it in the policy folder with <code>git apply policy.patch</code> or{' '}
          <code>patch -p1 {'<'} policy.patch</code>.
        </p>
      </div>
      <Findings title="Findings" findings={check.findings} />
      {failing.length > 0 && <Cases cases={failing} />}
      <section class="card" aria-label="The change">
        <h2>The change</h2>
        <div class="code" tabIndex={0} role="region" aria-label="Patch">
          <ol class="patch">
            {check.patch
              .trimEnd()
              .split('\n')
              .slice(0, 1000)
              .map((line, at) => (
                <li
                  key={at}
                  class={
                    /^\+(?!\+\+)/.test(line)
                      ? 'added'
                      : /^-(?!--)/.test(line)
                        ? 'removed'
                        : undefined
                  }
                >
                  <code>{line === '' ? ' ' : line}</code>
                </li>
              ))}
          </ol>
        </div>
      </section>
    </>
  );
}

function AccessChanges({ of: access }: { readonly of: NonNullable<Judged['access']> }) {
  const { changes, total, notes } = access;
  return (
    <section aria-label="Whose access changes">
      <h2>Whose access changes</h2>
      {notes.map((note) => (
        <p key={note} class="faint">
          Note: {note}.
        </p>
      ))}
      {changes.length === 0 ? (
        <Empty>
          <p>Nobody's access changes.</p>
        </Empty>
      ) : (
        <table class="rows">
          <thead>
            <tr>
              <th scope="col">Change</th>
              <th scope="col">Caller</th>
              <th scope="col">Object</th>
              <th scope="col">Actions</th>
              <th scope="col">Line before</th>
              <th scope="col">Line after</th>
            </tr>
          </thead>
          <tbody>
            {changes.map((one) => (
              <tr key={`${one.kind} ${one.caller} ${one.object}`}>
                <td data-label="Change">
                  <span class={`decision ${one.kind === 'gains' ? 'allow' : 'deny'}`}>
                    {one.kind}
                  </span>
                </td>
                <td data-label="Caller">{one.caller}</td>
                <td data-label="Object" class="mono">
                  {one.object}
                </td>
                <td data-label="Actions">{one.actions.join(', ')}</td>
                <td data-label="Line before" class="mono">
                  {one.before ?? 'no line'}
                </td>
                <td data-label="Line after" class="mono">
                  {one.after ?? 'no line'}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {total > changes.length && (
        <p class="faint">
          The first {count(changes.length)} of {count(total)}. <code>arrowgate policy diff</code>{' '}
          lists all.
        </p>
      )}
    </section>
  );
}

function Replayed({ of: replay }: { readonly of: NonNullable<Judged['replay']> }) {
  const { requests, same, lost, gained, changed, total, skipped } = replay;
  return (
    <section aria-label="Replay">
      <h2>Requests of the period, decided by the changed policy</h2>
      <dl class="headline">
        <div>
          <dt>Requests</dt>
          <dd>{count(requests)}</dd>
        </div>
        <div>
          <dt>As before</dt>
          <dd>{count(same)}</dd>
        </div>
        <div>
          <dt>Would be refused now</dt>
          <dd class={lost > 0 ? 'ill' : undefined}>{count(lost)}</dd>
        </div>
        <div>
          <dt>Would be allowed now</dt>
          <dd>{count(gained)}</dd>
        </div>
      </dl>
      {changed.length > 0 && (
        <table class="rows">
          <thead>
            <tr>
              <th scope="col">Change</th>
              <th scope="col">Who</th>
              <th scope="col">Action</th>
              <th scope="col">Object</th>
              <th scope="col" class="number">
                Requests
              </th>
              <th scope="col">Line then</th>
              <th scope="col">Line now</th>
              <th scope="col">Last (UTC)</th>
            </tr>
          </thead>
          <tbody>
            {changed.map((one) => (
              <tr key={one.example}>
                <td data-label="Change">
                  <span class={`decision ${one.kind === 'gain' ? 'allow' : 'deny'}`}>
                    {one.kind === 'gain' ? 'gains' : 'loses'}
                  </span>
                </td>
                <td data-label="Who">{one.subject}</td>
                <td data-label="Action">{one.action}</td>
                <td data-label="Object" class="mono">
                  {one.object}
                </td>
                <td data-label="Requests" class="number">
                  {count(one.requests)}
                </td>
                <td data-label="Line then" class="mono">
                  {one.was.rule ?? 'no line'}
                </td>
                <td data-label="Line now" class="mono">
                  {one.now.rule ?? 'no line'}
                </td>
                <td data-label="Last (UTC)">
                  <Link to={address(`request/${one.example}`, { began: '' })}>
                    {time(one.last).slice(0, 19)}
                  </Link>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {total > changed.length && (
        <p class="faint">
          The first {count(changed.length)} of {count(total)}. <code>arrowgate policy replay</code>{' '}
          lists all.
        </p>
      )}
      {skipped.map((one) => (
        <p key={one.why} class="faint">
          Not decided again: {count(one.requests)}, because {one.why}.{' '}
          <Link to={`request/${one.example}`}>An example</Link>
        </p>
      ))}
    </section>
  );
}
