import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, post, useApi } from '../api.ts';
import { fieldOf } from '../form.ts';
import { count, time } from '../format.ts';
import { address, go, Link } from '../router.tsx';
import { Empty, StateOf } from '../states.tsx';
import type { Key, KeyMaker, KeyPage, MadeKey } from '../types.ts';

type Makers = Readonly<Record<string, KeyMaker>>;

/** What a dialog asks about. */
type Question =
  | { readonly kind: 'create' }
  | { readonly kind: 'rotate' | 'revoke'; readonly key: Key };

const STATES = ['active', 'frozen', 'expired', 'revoked'];

export function Keys({ query }: { readonly query: URLSearchParams }) {
  const [text, state, first] = ['text', 'state', 'first'].map((name) => query.get(name) ?? '');
  const page = useApi<KeyPage>(address('keys', { text: text!, state: state!, first: first! }));
  const makers = useApi<Makers>('keys/makers');
  const [question, setQuestion] = useState<Question | undefined>();
  const [made, setMade] = useState<MadeKey | undefined>();
  const finish = (result: MadeKey | undefined): void => {
    setQuestion(undefined);
    setMade(result);
    page.reload();
    makers.reload();
  };
  return (
    <>
      <div class="title">
        <h1>Keys</h1>
        {page.data?.may_manage === true && (
          <button type="button" class="primary" onClick={() => setQuestion({ kind: 'create' })}>
            New key
          </button>
        )}
      </div>
      {made !== undefined && <Secret made={made} done={() => setMade(undefined)} />}
      <KeyFilter text={text!} state={state!} />
      <StateOf of={page} what="keys">
        {(found) => (
          <>
            <Found page={found} makers={makers.data} ask={setQuestion} />
            <nav class="pages" aria-label="Pages">
              {first !== '' && (
                <Link to={address('keys', { text: text!, state: state! })}>First</Link>
              )}
              {found.next !== null && (
                <Link
                  to={address('keys', { text: text!, state: state!, first: String(found.next) })}
                >
                  Older
                </Link>
              )}
            </nav>
          </>
        )}
      </StateOf>
      {question !== undefined && (
        <Dialog key={JSON.stringify(question)} question={question} finish={finish} />
      )}
    </>
  );
}

function KeyFilter({ text, state }: { readonly text: string; readonly state: string }) {
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const data = new FormData(event.currentTarget as HTMLFormElement);
    go(address('keys', { text: fieldOf(data, 'text'), state: fieldOf(data, 'state') }));
  };
  return (
    <form class="filters" role="search" aria-label="Filter of keys" onSubmit={submit}>
      <div>
        <label for="text">Key, owner or role</label>
        <input
          id="text"
          name="text"
          key={text}
          defaultValue={text}
          placeholder="role:analyst"
          spellcheck={false}
        />
      </div>
      <div>
        <label for="state">State</label>
        <select id="state" name="state">
          <option value="">any</option>
          {STATES.map((name) => (
            <option key={name} value={name} selected={name === state}>
              {name}
            </option>
          ))}
        </select>
      </div>
      <div class="submit">
        <button type="submit">Show</button>
        <Link to="keys">Clear</Link>
      </div>
    </form>
  );
}

interface FoundProps {
  readonly page: KeyPage;
  readonly makers: Makers | undefined;
  readonly ask: (question: Question) => void;
}

function Found({ page: { keys, total, may_manage }, makers, ask }: FoundProps) {
  if (keys.length === 0) {
    return (
      <Empty>
        <h2>No keys</h2>
        <p>No key matches. Clear the filter, or make a key.</p>
      </Empty>
    );
  }
  return (
    <>
      <p class="total">
        <strong>{count(total)}</strong> {total === 1 ? 'key' : 'keys'}.{' '}
        {!may_manage && (
          <span class="faint">
            Callers with the right <code>manage</code> on <code>/**</code> can change them.
          </span>
        )}
      </p>
      <table class="rows">
        <thead>
          <tr>
            <th scope="col">Key</th>
            <th scope="col">Owner</th>
            <th scope="col">Roles and scopes</th>
            <th scope="col">State</th>
            <th scope="col">Last use (UTC)</th>
            <th scope="col">Ends (UTC)</th>
            <th scope="col">Made (UTC)</th>
            {may_manage && <th scope="col">Change</th>}
          </tr>
        </thead>
        <tbody>
          {keys.map((key) => (
            <KeyRow
              key={key.id}
              of={key}
              maker={makers?.[key.id]}
              ask={may_manage ? ask : undefined}
            />
          ))}
        </tbody>
      </table>
    </>
  );
}

interface KeyRowProps {
  readonly of: Key;
  readonly maker: KeyMaker | undefined;
  readonly ask: ((question: Question) => void) | undefined;
}

function KeyRow({ of: key, maker, ask }: KeyRowProps) {
  const { id, subject, roles, scopes, state, last_used, created } = key;
  const end = key.revoked ?? key.expires;
  return (
    <tr>
      <td data-label="Key" class="mono">
        <Link to={address('trail', { since: '30d', text: id })} title="Its requests">
          {id}
        </Link>
      </td>
      <td data-label="Owner">
        <Link to={address('trail', { since: '7d', subject })}>{subject}</Link>
      </td>
      <td data-label="Roles and scopes">
        <span>
          {roles.join(', ') || <span class="faint">roles of the owner only</span>}
          {scopes.map((scope) => (
            <code key={scope} class="line">
              {scope}
            </code>
          ))}
        </span>
      </td>
      <td data-label="State">
        <span>
          <span class={`decision ${state === 'active' ? 'allow' : 'other'}`}>{state}</span>
        </span>
      </td>
      <td data-label="Last use">{last_used === null ? 'never' : shortTime(last_used)}</td>
      <td data-label="Ends">{end === null ? 'never' : shortTime(end)}</td>
      <td data-label="Made">
        <span>
          {shortTime(created)}
          {maker !== undefined && (
            <span class="line">
              by{' '}
              <Link to={address(`request/${maker.decision_id}`, { began: maker.began })}>
                {maker.subject ?? 'the service'}
              </Link>
            </span>
          )}
        </span>
      </td>
      {ask !== undefined && (
        <td data-label="Change">
          <span class="actions">
            {state === 'active' && (
              <button
                type="button"
                aria-label={`Rotate ${id}`}
                onClick={() => ask({ kind: 'rotate', key })}
              >
                Rotate
              </button>
            )}
            {(state === 'active' || state === 'frozen') && (
              <button
                type="button"
                aria-label={`Revoke ${id}`}
                onClick={() => ask({ kind: 'revoke', key })}
              >
                Revoke
              </button>
            )}
          </span>
        </td>
      )}
    </tr>
  );
}

function shortTime(rfc3339: string): string {
  return time(rfc3339).slice(0, 16);
}

/** The text of a new key, until the reader has it. */
function Secret({ made, done }: { readonly made: MadeKey; readonly done: () => void }) {
  const [isCopied, setCopied] = useState(false);
  const place = useRef<HTMLElement>(null);
  useEffect(() => place.current?.focus(), [made]);
  const copy = (): void => {
    navigator.clipboard
      .writeText(made.key)
      .then(() => setCopied(true))
      .catch(() => setCopied(false));
  };
  return (
    <section class="attention" aria-label="New key" ref={place} tabIndex={-1}>
      <p>
        <strong>
          The key of {made.subject} is {made.id}.
        </strong>{' '}
        It is shown this once: store it now.
      </p>
      <p>
        <code class="secret">{made.key}</code>
      </p>
      <div class="actions">
        <button type="button" onClick={copy}>
          {isCopied ? 'Copied' : 'Copy'}
        </button>
        <button type="button" onClick={done}>
          I have it
        </button>
      </div>
    </section>
  );
}

interface DialogProps {
  readonly question: Question;
  /** Called at the end, with the key that was made, if any. */
  readonly finish: (made: MadeKey | undefined) => void;
}

const TITLES = { create: 'New key', rotate: 'Rotate a key', revoke: 'Revoke a key' };
const VERBS = { create: 'Make the key', rotate: 'Rotate', revoke: 'Revoke' };

function Dialog({ question, finish }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [fault, setFault] = useState<string | undefined>();
  const [isBusy, setBusy] = useState(false);
  useEffect(() => dialog.current?.showModal(), []);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    setBusy(true);
    const data = new FormData(event.currentTarget as HTMLFormElement);
    post<Partial<MadeKey>>(`keys/${question.kind}`, bodyOf(question, data))
      .then((made) => finish(question.kind === 'revoke' ? undefined : (made as MadeKey)))
      .catch((error: unknown) => {
        setBusy(false);
        setFault(error instanceof ApiError ? error.message : String(error));
      });
  };
  const close = (): void => dialog.current?.close();
  return (
    <dialog ref={dialog} aria-labelledby="dialog-title" onClose={() => finish(undefined)}>
      <form onSubmit={submit}>
        <h2 id="dialog-title">{TITLES[question.kind]}</h2>
        {question.kind === 'create' ? <NewKeyFields /> : <Consequences question={question} />}
        {fault !== undefined && (
          <p class="fault" role="alert">
            {fault}
          </p>
        )}
        <div class="actions">
          <button
            type="submit"
            class={question.kind === 'revoke' ? 'danger' : 'primary'}
            disabled={isBusy}
          >
            {VERBS[question.kind]}
          </button>
          <button type="button" autofocus={question.kind === 'revoke'} onClick={close}>
            Cancel
          </button>
        </div>
      </form>
    </dialog>
  );
}

function Consequences({
  question: { kind, key },
}: {
  readonly question: Extract<Question, { readonly key: Key }>;
}) {
  if (kind === 'revoke') {
    return (
      <p>
        Requests with the key <code>{key.id}</code> of {key.subject} are refused from now on. This
        cannot be undone.
      </p>
    );
  }
  return (
    <>
      <p>
        A successor of <code>{key.id}</code> of {key.subject} is made, with the same rights. The old
        key ends after the overlap.
      </p>
      <div>
        <label for="overlap">Overlap</label>
        <input id="overlap" name="overlap" defaultValue="24h" required autocomplete="off" />
      </div>
    </>
  );
}

const FIELDS = [
  ['subject', 'Owner', 'alice'],
  ['roles', 'Roles of this key', 'role:analyst'],
  ['scopes', 'Scopes, which narrow it', 'read:/prod/**'],
  ['expires', 'Valid for', '90d; no end if empty'],
] as const;

function NewKeyFields() {
  return (
    <>
      {FIELDS.map(([name, label, hint]) => (
        <div key={name}>
          <label for={`new-${name}`}>{label}</label>
          <input
            id={`new-${name}`}
            name={name}
            placeholder={hint}
            required={name === 'subject'}
            autocomplete="off"
            spellcheck={false}
          />
        </div>
      ))}
    </>
  );
}

/** The body of a call. Roles and scopes are typed with spaces or commas between them. */
function bodyOf(question: Question, data: FormData): object {
  if (question.kind === 'revoke') return { id: question.key.id };
  if (question.kind === 'rotate') return { id: question.key.id, overlap: fieldOf(data, 'overlap') };
  const listOf = (name: string): string[] =>
    fieldOf(data, name)
      .split(/[\s,]+/)
      .filter((each) => each !== '');
  const expires = fieldOf(data, 'expires');
  return {
    subject: fieldOf(data, 'subject'),
    roles: listOf('roles'),
    scopes: listOf('scopes'),
    ...(expires === '' ? {} : { expires }),
  };
}
