import { useRef, useState } from 'preact/hooks';
import { ApiError, download, postedLines, useApi } from '../api.ts';
import { bytes, count, things, time } from '../format.ts';
import { address, Link } from '../router.tsx';
import { Empty, StateOf } from '../states.tsx';
import type { Chain, Integrity as Found, Verification, VerificationRun } from '../types.ts';

export function Integrity() {
  const found = useApi<Found>('integrity');
  return (
    <>
      <h1>Integrity</h1>
      <p class="lead">
        Each record of the log has the hash of the record before it, and each second the newest hash
        is signed: a checkpoint. A verification reads all records and compares them with the
        checkpoints.
      </p>
      <Verify finished={found.reload} />
      <Evidence />
      <StateOf of={found} what="the chains of the log">
        {({ chains, verifications }) => (
          <div class="stack">
            <Earlier verifications={verifications} />
            <Chains chains={chains} />
          </div>
        )}
      </StateOf>
    </>
  );
}

type Run =
  | { readonly kind: 'none' }
  | { readonly kind: 'running'; readonly progress: string }
  | { readonly kind: 'stopped' }
  | { readonly kind: 'failed'; readonly why: string }
  | { readonly kind: 'done'; readonly result: Verification };

function Verify({ finished }: { readonly finished: () => void }) {
  const [run, setRun] = useState<Run>({ kind: 'none' });
  const ending = useRef<AbortController | undefined>(undefined);
  const start = (): void => {
    ending.current = new AbortController();
    setRun({ kind: 'running', progress: 'beginning' });
    void verify(ending.current.signal, setRun).then(finished);
  };
  const isRunning = run.kind === 'running';
  return (
    <section class="card" aria-label="Verification">
      <h2>Verification</h2>
      <div class="actions">
        <button type="button" class="primary" disabled={isRunning} onClick={start}>
          Verify the log
        </button>
        {isRunning && (
          <button type="button" onClick={() => ending.current?.abort()}>
            Stop
          </button>
        )}
      </div>
      <div role="status">
        {isRunning && <p class="live">Verifying: {run.progress} …</p>}
        {run.kind === 'stopped' && <p>The verification was stopped; nothing was found out.</p>}
        {run.kind === 'done' && <Result result={run.result} />}
      </div>
      {run.kind === 'failed' && (
        <p class="fault" role="alert">
          {run.why}
        </p>
      )}
    </section>
  );
}

async function verify(signal: AbortSignal, show: (run: Run) => void): Promise<void> {
  try {
    let last: Run = { kind: 'failed', why: 'The answer ended before the result: try again.' };
    for await (const line of postedLines<VerificationRun>('integrity/verify', signal)) {
      if ('progress' in line) show({ kind: 'running', progress: line.progress });
      else if ('result' in line) last = { kind: 'done', result: line.result };
      else last = { kind: 'failed', why: line.error };
    }
    show(last);
  } catch (error) {
    if (signal.aborted) show({ kind: 'stopped' });
    else show({ kind: 'failed', why: error instanceof Error ? error.message : String(error) });
  }
}

function Result({ result }: { readonly result: Verification }) {
  const { findings, records, instances, unsigned, to, keys, unknown, notes } = result;
  const faults = findings.length;
  const isWhole = faults === 0;
  return (
    <div class={`attention ${isWhole ? 'well' : 'ill'}`}>
      <p>
        <strong>
          {isWhole
            ? 'Every chain is whole.'
            : `The log has ${faults === 1 ? '1 finding' : `${count(faults)} findings`}.`}
        </strong>{' '}
        {things(records, 'record')} of {things(instances, 'instance')} were read, signed until{' '}
        {to === null ? 'no time' : `${time(to)} UTC`}.{' '}
        {unsigned > 0 && `${things(unsigned, 'newer record')} not signed yet.`}
      </p>
      {findings.length > 0 && (
        <ul class="plain">
          {findings.map(({ instance, kind, text, sequence }) => (
            <li key={`${instance} ${sequence}`}>
              <strong>{kind}</strong> in <code>{instance}</code>, record {count(sequence)}: {text}
            </li>
          ))}
        </ul>
      )}
      <Checkpoints result={result} />
      <details>
        <summary>What this rests on, and what it cannot know</summary>
        <ul class="plain">
          {keys.map(({ id, why }) => (
            <li key={id}>
              Key <code>{id}</code>: {why}
            </li>
          ))}
          {[...notes, ...unknown].map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      </details>
    </div>
  );
}

/** Chains whose newest checkpoint is listed. */
const MOST_HEADS = 100;

/** Where checkpoints were found, and up to which record each chain is signed; the newest chains first. */
function Checkpoints({ result: { heads, places } }: { readonly result: Verification }) {
  return (
    <details>
      <summary>Checkpoints</summary>
      <ul class="plain">
        {places.map(({ name, checkpoints }) => (
          <li key={name}>
            {count(checkpoints)} in {name}
          </li>
        ))}
      </ul>
      <div class="scroll" tabIndex={0} role="region" aria-label="Newest checkpoint of each chain">
        <table>
          <thead>
            <tr>
              <th scope="col">Instance</th>
              <th scope="col" class="number">
                Records
              </th>
              <th scope="col" class="number">
                Signed
              </th>
              <th scope="col">At (UTC)</th>
              <th scope="col">Key</th>
              <th scope="col">Hash of the last record</th>
            </tr>
          </thead>
          <tbody>
            {heads
              .slice(-MOST_HEADS)
              .toReversed()
              .map((head) => (
                <tr key={head.instance}>
                  <td class="mono">{head.instance}</td>
                  <td class="number">{count(head.count)}</td>
                  <td class="number">{count(head.signed)}</td>
                  <td>{head.time === null ? '–' : time(head.time)}</td>
                  <td class="mono">{head.key ?? '–'}</td>
                  <td class="mono">{head.hash}</td>
                </tr>
              ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

const PERIODS = [
  ['24h', 'Last day'],
  ['7d', 'Last 7 days'],
  ['30d', 'Last 30 days'],
  ['', 'All there is'],
] as const;

type Making =
  | { readonly kind: 'none' | 'done' | 'making' }
  | { readonly kind: 'failed'; readonly why: string };

function Evidence() {
  const [since, setSince] = useState<string>('7d');
  const [state, setState] = useState<Making>({ kind: 'none' });
  const make = (event: SubmitEvent): void => {
    event.preventDefault();
    setState({ kind: 'making' });
    download(address('evidence', { since }))
      .then(() => setState({ kind: 'done' }))
      .catch((error: unknown) => {
        setState({
          kind: 'failed',
          why: error instanceof ApiError ? error.message : String(error),
        });
      });
  };
  return (
    <section class="card" aria-label="Evidence">
      <h2>Evidence</h2>
      <p>
        An archive for an auditor: report, records, verification, policies and keys, with a list of
        digests that <code>arrowgate audit verify --evidence</code> checks.
      </p>
      <form class="actions" onSubmit={make}>
        <label for="evidence-since">Period</label>
        <select
          id="evidence-since"
          value={since}
          onChange={(event) => setSince(event.currentTarget.value)}
        >
          {PERIODS.map(([value, name]) => (
            <option key={value} value={value}>
              {name}
            </option>
          ))}
        </select>
        <button type="submit" disabled={state.kind === 'making'}>
          Download
        </button>
      </form>
      <p role="status" class="live">
        {state.kind === 'making' && 'Making the evidence: the log is verified and read …'}
        {state.kind === 'done' && 'The archive was downloaded.'}
      </p>
      {state.kind === 'failed' && (
        <p class="fault" role="alert">
          {state.why}
        </p>
      )}
    </section>
  );
}

function Earlier({ verifications }: Pick<Found, 'verifications'>) {
  return (
    <section aria-label="Earlier verifications">
      <h2>Earlier verifications</h2>
      {verifications.length === 0 ? (
        <Empty>
          <p>Nobody has verified the log here yet.</p>
        </Empty>
      ) : (
        <table class="rows">
          <thead>
            <tr>
              <th scope="col">Time (UTC)</th>
              <th scope="col">By</th>
              <th scope="col">Signed until</th>
              <th scope="col" class="number">
                Records
              </th>
              <th scope="col" class="number">
                Findings
              </th>
            </tr>
          </thead>
          <tbody>
            {verifications.map(({ began, decision_id, subject, to, records, findings }) => (
              <tr key={decision_id}>
                <td data-label="Time">
                  <Link to={address(`request/${decision_id}`, { began })} class="mono">
                    {time(began)}
                  </Link>
                </td>
                <td data-label="By">{subject ?? '–'}</td>
                <td data-label="Signed until" class="mono">
                  {to === null ? '–' : time(to)}
                </td>
                <td data-label="Records" class="number">
                  {count(records)}
                </td>
                <td data-label="Findings" class="number">
                  {count(findings)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

/** Chains that are listed at once. */
const MOST_CHAINS = 50;

function Chains({ chains }: { readonly chains: readonly Chain[] }) {
  return (
    <section aria-label="Chains">
      <h2>Chains</h2>
      <p class="faint">
        {things(chains.length, 'instance')}, the newest first. Each start of a process and each
        command that changes something is one. Full files are sealed; the newest records are in a
        file that is not sealed yet.
      </p>
      <table class="rows">
        <thead>
          <tr>
            <th scope="col">Instance</th>
            <th scope="col">Sealed from</th>
            <th scope="col">Sealed until</th>
            <th scope="col" class="number">
              Sealed records
            </th>
            <th scope="col" class="number">
              Files
            </th>
            <th scope="col" class="number">
              Size
            </th>
          </tr>
        </thead>
        <tbody>
          {chains.slice(0, MOST_CHAINS).map((chain) => (
            <tr key={chain.instance}>
              <td data-label="Instance" class="mono">
                {chain.instance}
              </td>
              <td data-label="Sealed from" class="mono">
                {chain.from === null ? '–' : time(chain.from)}
              </td>
              <td data-label="Sealed until" class="mono">
                {chain.to === null ? '–' : time(chain.to)}
              </td>
              <td data-label="Sealed records" class="number">
                {count(chain.sealed)}
              </td>
              <td data-label="Files" class="number">
                {count(chain.segments + chain.lines)}
              </td>
              <td data-label="Size" class="number">
                {bytes(chain.bytes)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {chains.length > MOST_CHAINS && (
        <p class="faint">{count(chains.length - MOST_CHAINS)} older ones are not shown.</p>
      )}
    </section>
  );
}
