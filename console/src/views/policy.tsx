import { useEffect } from 'preact/hooks';
import { useApi } from '../api.ts';
import { count, digest, time } from '../format.ts';
import type { PolicyEvent, ShownPolicy } from '../policy-types.ts';
import { address, Link } from '../router.tsx';
import { Empty, Failure, StateOf } from '../states.tsx';
import { Tabs } from '../tabs.tsx';
import { Progress, useWork } from '../work.tsx';
import { CodeFile } from './code-file.tsx';
import { Cases } from './policy-cases.tsx';
import { Findings } from './policy-kind.tsx';
import { Proposal } from './proposal.tsx';

const PARTS = [
  ['', 'Files'],
  ['cases', 'Cases'],
  ['history', 'History'],
  ['propose', 'Propose a change'],
] as const;

interface PolicyProps {
  readonly part: string;
  readonly query: URLSearchParams;
}

export function Policy({ part, query }: PolicyProps) {
  const policy = useApi<ShownPolicy>('policy');
  return (
    <>
      <div class="title">
        <h1>Policy</h1>
        <Tabs
          label="Parts of the policy"
          tabs={PARTS.map(([path, name]) => [
            path === '' ? 'policy' : `policy/${path}`,
            name,
            path === part,
          ])}
        />
      </div>
      {part === 'history' ? (
        <History since={query.get('since') ?? '90d'} />
      ) : (
        <StateOf of={policy} what="the policy">
          {(found) => (
            <div class="stack">
              {part !== 'propose' && <Summary policy={found} />}
              {part === '' && <Files policy={found} file={query.get('file') ?? ''} />}
              {part === 'cases' && <Cases cases={found.cases} />}
              {part === 'propose' && <Proposal policy={found} />}
            </div>
          )}
        </StateOf>
      )}
    </>
  );
}

function Summary({ policy }: { readonly policy: ShownPolicy }) {
  const { digest: inForce, folder_digest, findings, cases, files } = policy;
  const faults = findings.filter(({ kind }) => kind === 'fault').length;
  const failing = cases.filter(({ fault }) => fault !== null).length;
  return (
    <>
      {folder_digest !== inForce && (
        <p class="attention ill" role="status">
          <strong>The folder is not the policy in force.</strong> Its files were changed
          {faults > 0 ? ' and have findings' : ''}; the gateway decides by {digest(inForce)} until a
          change is accepted.
        </p>
      )}
      <dl class="headline">
        <div>
          <dt>In force</dt>
          <dd class="mono" title={inForce}>
            {digest(inForce)}
          </dd>
        </div>
        <div>
          <dt>Files</dt>
          <dd>{count(files.length)}</dd>
        </div>
        <div>
          <dt>Faults</dt>
          <dd class={faults > 0 ? 'ill' : undefined}>{count(faults)}</dd>
        </div>
        <div>
          <dt>Warnings</dt>
          <dd>{count(findings.length - faults)}</dd>
        </div>
        <div>
          <dt>Cases that hold</dt>
          <dd class={failing > 0 ? 'ill' : undefined}>
            {cases.length === 0
              ? '–'
              : `${count(cases.length - failing)} of ${count(cases.length)}`}
          </dd>
        </div>
      </dl>
    </>
  );
}

function Files({ policy, file }: { readonly policy: ShownPolicy; readonly file: string }) {
  const { files, findings } = policy;
  const first = findings.find((one) => files.some(({ name }) => name === one.file))?.file;
  const fallback = first ?? files.find(({ name }) => name === 'policy.csv')?.name;
  const shown = files.find(({ name }) => name === (file === '' ? fallback : file));
  const elsewhere = findings.filter((one) => !files.some(({ name }) => name === one.file));
  return (
    <>
      {elsewhere.length > 0 && <Findings findings={elsewhere} title="Findings of the folder" />}
      {files.length === 0 && elsewhere.length === 0 && (
        <Empty>
          <h2>No files</h2>
          <p>The policy folder cannot be read.</p>
        </Empty>
      )}
      {files.length > 0 && (
        <div class="with-list">
          <nav aria-label="Files" class="file-list">
            {files.map(({ name }) => {
              const own = findings.filter((one) => one.file === name).length;
              return (
                <Link
                  key={name}
                  to={address('policy', { file: name })}
                  current={name === shown?.name}
                >
                  {name}
                  {own > 0 && (
                    <span class="badge">
                      {own}
                      <span class="sr"> findings</span>
                    </span>
                  )}
                </Link>
              );
            })}
          </nav>
          {shown === undefined ? (
            <Empty>
              <p>The folder has no file {file}. Choose one of the list.</p>
            </Empty>
          ) : (
            <CodeFile
              key={shown.name}
              name={shown.name}
              text={shown.text}
              findings={findings.filter((one) => one.file === shown.name)}
            />
          )}
        </div>
      )}
    </>
  );
}

const PERIODS = [
  ['7d', '7 days'],
  ['90d', '90 days'],
  ['36500d', 'All there is'],
] as const;

function History({ since }: { readonly since: string }) {
  const work = useWork<{ readonly history?: { readonly events: readonly PolicyEvent[] } }>(
    address('policy/history', { since }),
    'history',
  );
  useEffect(() => work.start(), [since]);
  const { running, results, error } = work;
  return (
    <>
      <Tabs
        label="Period"
        tabs={PERIODS.map(([value, name]) => [
          address('policy/history', { since: value }),
          name,
          value === since,
        ])}
      />
      {running && <Progress of={work} names={{ history: 'Reading the audit log' }} />}
      {error !== undefined && <Failure error={error} retry={() => work.start()} />}
      {!running && error === undefined && results.history === undefined && (
        <Empty>
          <p>The reading was stopped.</p>
          <button type="button" onClick={() => work.start()}>
            Read again
          </button>
        </Empty>
      )}
      {results.history !== undefined && <Events events={results.history.events} />}
    </>
  );
}

function Events({ events }: { readonly events: readonly PolicyEvent[] }) {
  if (events.length === 0) {
    return (
      <Empty>
        <h2>No policy decided anything</h2>
        <p>No request of this period was decided by a policy. Choose a longer one.</p>
      </Empty>
    );
  }
  return (
    <table class="rows">
      <thead>
        <tr>
          <th scope="col">Since (UTC)</th>
          <th scope="col">Policy</th>
          <th scope="col">State</th>
          <th scope="col" class="number">
            Requests
          </th>
          <th scope="col">Lines</th>
          <th scope="col">Last request (UTC)</th>
          <th scope="col">Loaded by</th>
        </tr>
      </thead>
      <tbody>
        {events.map((one) => (
          <EventRow key={`${one.since} ${one.digest}`} event={one} />
        ))}
      </tbody>
    </table>
  );
}

function EventRow({ event }: { readonly event: PolicyEvent }) {
  const { since, last, state, requests, lines_added, lines_removed, by, findings } = event;
  const kind = state === 'current' ? 'allow' : state === 'refused' ? 'deny' : 'other';
  return (
    <tr>
      <td data-label="Since (UTC)">{since === null ? '–' : time(since).slice(0, 19)}</td>
      <td data-label="Policy" class="mono" title={event.digest ?? undefined}>
        {digest(event.digest)}
      </td>
      <td data-label="State">
        <span>
          <span class={`decision ${kind}`}>{state}</span>
          {findings !== null && <span class="fault line pre">{findings}</span>}
        </span>
      </td>
      <td data-label="Requests" class="number">
        {count(requests)}
      </td>
      <td data-label="Lines">
        {lines_added === null ? '–' : `+${lines_added} −${lines_removed ?? 0}`}
      </td>
      <td data-label="Last request (UTC)">{last === null ? '–' : time(last).slice(0, 19)}</td>
      <td data-label="Loaded by">{by ?? <span class="faint">a start</span>}</td>
    </tr>
  );
}
