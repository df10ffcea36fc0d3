import type { ComponentChildren } from 'preact';
import type { ApiError, Loaded } from './api.ts';

interface StateOfProps<Data> {
  readonly of: Loaded<Data>;
  /** What is loaded, as in "Loading requests". */
  readonly what: string;
  readonly children: (data: Data) => ComponentChildren;
}

/** What was loaded; before that, that it is loading, or why it failed. */
export function StateOf<Data>({ of, what, children }: StateOfProps<Data>) {
  const { data, error, loading, reload } = of;
  if (error !== undefined) return <Failure error={error} retry={reload} />;
  if (data === undefined) return <Loading what={what} />;
  return (
    <div class={loading ? 'stale' : undefined} aria-busy={loading}>
      {children(data)}
    </div>
  );
}

export function Loading({ what }: { readonly what: string }) {
  return (
    <p class="state loading" role="status">
      Loading {what} …
    </p>
  );
}

interface FailureProps {
  readonly error: ApiError;
  readonly retry: () => void;
  /** Name of the button; "Try again" when absent, which a request that can only be refused again does not have. */
  readonly again?: string;
}

export function Failure({ error, retry, again }: FailureProps) {
  if (error.status === 403) return <NoRight sentence={error.message} />;
  if (error.status === 400 && again === undefined) return <Refused sentence={error.message} />;
  return (
    <div class="state failure" role="alert">
      <h2>That did not work</h2>
      <p>{error.message}</p>
      <button type="button" onClick={retry}>
        {again ?? 'Try again'}
      </button>
    </div>
  );
}

function Refused({ sentence }: { readonly sentence: string }) {
  return (
    <div class="state failure" role="alert">
      <h2>This cannot be answered</h2>
      <p class="sentence">{sentence}</p>
    </div>
  );
}

function NoRight({ sentence }: { readonly sentence: string }) {
  return (
    <div class="state failure" role="alert">
      <h2>You do not have the right to see this</h2>
      <p>{sentence}</p>
      {sentence.includes('/system/audit') && (
        <p>
          The console needs the action <code>audit</code> on <code>/system/audit</code>. An
          administrator can add a line to <code>policy.csv</code>, such as{' '}
          <code>p, role:auditor, /system/**, audit, allow</code>.
        </p>
      )}
    </div>
  );
}

export function Empty({ children }: { readonly children: ComponentChildren }) {
  return <div class="state empty">{children}</div>;
}

/** A number of a headline, with its name. */
export function Figure({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

/** A decision, readable without its colour. */
export function Decision({ value }: { readonly value: string }) {
  const kind =
    value === 'allow' ? 'allow' : value === 'deny' || value === 'refused' ? 'deny' : 'other';
  return <span class={`decision ${kind}`}>{value}</span>;
}
