import { useEffect, useState } from 'preact/hooks';

/** A refusal of the service. */
export class ApiError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const BASE = '/console/api/';

/** @throws ApiError; its status is 0 if the service cannot be reached */
export async function get<Result>(path: string, signal?: AbortSignal): Promise<Result> {
  const response = await reach(BASE + path, signal === undefined ? {} : { signal });
  return (await response.json()) as Result;
}

/** Sends a body of JSON. @throws ApiError */
export async function post<Result>(
  path: string,
  body: object | string,
  signal?: AbortSignal,
): Promise<Result> {
  const response = await reach(BASE + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  });
  return (await response.json()) as Result;
}

/** Begins a session. A key begins with `agk_`; a token has three parts. @throws ApiError */
export async function signIn(credential: string): Promise<void> {
  const isToken = /^[\w-]+\.[\w-]+\.[\w-]*$/.test(credential);
  await reach('/console/session', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(isToken ? { token: credential } : { key: credential }),
  });
}

/** @throws ApiError */
export async function signOut(): Promise<void> {
  await reach('/console/session', { method: 'DELETE' });
}

/** Lines of JSON as they come, until the service or the signal ends it. A body is sent by POST. @throws ApiError */
export function lines<Line>(
  path: string,
  signal: AbortSignal,
  body?: object,
): AsyncGenerator<Line> {
  const sent = body === undefined ? {} : posted(body);
  return linesOf<Line>(path, { ...sent, signal });
}

function posted(body: object): RequestInit {
  return {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  };
}

/** The same of a call that does something. @throws ApiError */
export function postedLines<Line>(path: string, signal: AbortSignal): AsyncGenerator<Line> {
  return linesOf<Line>(path, { signal, method: 'POST' });
}

/** Saves the file that a call answers, under the name that the answer gives. @throws ApiError */
export async function download(path: string): Promise<void> {
  const response = await reach(BASE + path, {});
  const [, name = 'download'] =
    /filename="([^"]+)"/.exec(response.headers.get('content-disposition') ?? '') ?? [];
  const link = document.createElement('a');
  link.href = URL.createObjectURL(await response.blob());
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

async function* linesOf<Line>(path: string, init: RequestInit): AsyncGenerator<Line> {
  const response = await reach(BASE + path, init);
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (let piece = await reader?.read(); piece?.value !== undefined; piece = await reader?.read()) {
    const parts = (rest + piece.value).split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts) if (part !== '') yield JSON.parse(part) as Line;
  }
}

async function reach(url: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, init);
  } catch (error) {
    if (init.signal?.aborted === true) throw error;
    throw new ApiError(0, 'The service cannot be reached. Check that it runs, then try again.');
  }
  if (response.ok) return response;
  throw new ApiError(response.status, await sentenceOf(response));
}

async function sentenceOf(response: Response): Promise<string> {
  try {
    const { error } = (await response.json()) as { readonly error?: string };
    return error ?? `The service answered ${response.status}.`;
  } catch {
    return `The service answered ${response.status}.`;
  }
}

/** State of something that is loaded. The last data stay while newer are loaded. */
export interface Loaded<Data> {
  readonly data?: Data | undefined;
  readonly error?: ApiError | undefined;
  readonly loading: boolean;
  readonly reload: () => void;
}

/** Loads a path of the API, with a body if one is given, and again when they change; null loads nothing. */
export function useApi<Data>(path: string | null, body?: object): Loaded<Data> {
  const sent = body === undefined ? undefined : JSON.stringify(body);
  const [state, setState] = useState<{ data?: Data; error?: ApiError; loading: boolean }>({
    loading: path !== null,
  });
  const [round, setRound] = useState(0);
  useEffect(() => {
    if (path === null) return undefined;
    const ending = new AbortController();
    setState(({ data }) => ({ loading: true, ...(data === undefined ? {} : { data }) }));
    const answer =
      sent === undefined ? get<Data>(path, ending.signal) : post<Data>(path, sent, ending.signal);
    answer
      .then((data) => setState({ data, loading: false }))
      .catch((error: unknown) => {
        if (ending.signal.aborted) return;
        const refused = error instanceof ApiError ? error : new ApiError(0, String(error));
        if (refused.status === 401) window.dispatchEvent(new Event(SIGNED_OUT));
        setState({ error: refused, loading: false });
      });
    return () => ending.abort();
  }, [path, sent, round]);
  return { ...state, reload: () => setRound((before) => before + 1) };
}

/** Event of the window: the session has ended. */
export const SIGNED_OUT = 'arrowgate-signed-out';
