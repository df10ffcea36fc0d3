import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, lines, SIGNED_OUT } from './api.ts';
import { count } from './format.ts';

/** A line of long work of the service. */
interface WorkLine {
  readonly stage?: string;
  readonly done?: number;
  readonly result?: unknown;
  readonly error?: string;
  readonly status?: number;
}

/** Long work of the service, with what it has found so far. */
export interface Work<Results> {
  readonly running: boolean;
  /** The stage that goes on, and how much of it is done. */
  readonly stage: string | null;
  readonly done: number;
  readonly results: Results;
  readonly error: ApiError | undefined;
  /** Sends the body, if one is given, by POST. */
  readonly start: (body?: object) => void;
  readonly stop: () => void;
}

const IDLE = { running: false, stage: null, done: 0, error: undefined };

/** Long work at a path of the API. It ends with the page. @param first Stage that it begins with. */
export function useWork<Results extends object>(path: string, first: string): Work<Results> {
  const [state, setState] = useState<Omit<Work<Results>, 'start' | 'stop'>>({
    ...IDLE,
    results: {} as Results,
  });
  const ending = useRef<AbortController | undefined>(undefined);
  const stop = (): void => {
    ending.current?.abort();
    ending.current = undefined;
    setState((before) => ({ ...before, running: false }));
  };
  const start = (body?: object): void => {
    ending.current?.abort();
    const own = new AbortController();
    ending.current = own;
    setState({ ...IDLE, running: true, stage: first, results: {} as Results });
    follow(lines<WorkLine>(path, own.signal, body), (line) =>
      setState((before) => ({ ...before, ...after(before.results, line) })),
    )
      .then(() => setState((before) => ({ ...before, running: false })))
      .catch((error: unknown) => {
        if (own.signal.aborted) return;
        const failed = error instanceof ApiError ? error : new ApiError(0, String(error));
        if (failed.status === 401) window.dispatchEvent(new Event(SIGNED_OUT));
        setState((before) => ({ ...before, running: false, error: failed }));
      });
  };
  useEffect(() => () => ending.current?.abort(), []);
  return { ...state, start, stop };
}

async function follow(
  found: AsyncGenerator<WorkLine>,
  take: (line: WorkLine) => void,
): Promise<void> {
  for await (const line of found) {
    if (line.error !== undefined) throw new ApiError(line.status ?? 500, line.error);
    take(line);
  }
}

function after<Results>(results: Results, { stage, done, result }: WorkLine) {
  if (stage === undefined) return {};
  if (result === undefined) return { stage, done: done ?? 0 };
  return { stage, done: 0, results: { ...results, [stage]: result } };
}

interface ProgressProps {
  readonly of: Pick<Work<object>, 'stage' | 'done' | 'stop'>;
  /** What each stage does, by its name. */
  readonly names: Readonly<Record<string, string>>;
}

/** Long work that goes on: what it does, how far it is, and a way to end it. */
export function Progress({ of: { stage, done, stop }, names }: ProgressProps) {
  const what = names[stage ?? ''] ?? 'Working';
  return (
    <div class="state working" role="status">
      <p>
        {what} … {done > 0 && <span class="faint">{count(done)} so far</span>}
      </p>
      <progress aria-label={what} />
      <button type="button" onClick={stop}>
        Stop
      </button>
    </div>
  );
}
