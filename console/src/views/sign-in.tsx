import { useState } from 'preact/hooks';
import { ApiError, signIn } from '../api.ts';

interface SignInProps {
  /** Whether a session was open before. */
  readonly ended: boolean;
  readonly signedIn: () => void;
}

export function SignIn({ ended, signedIn }: SignInProps) {
  const [credential, setCredential] = useState('');
  const [fault, setFault] = useState<string | undefined>();
  const [busy, setBusy] = useState(false);
  const begin = async (): Promise<void> => {
    setBusy(true);
    setFault(undefined);
    try {
      await signIn(credential.trim());
      signedIn();
    } catch (error) {
      setFault(error instanceof ApiError ? error.message : String(error));
      setBusy(false);
    }
  };
  const submit = (event: Event): void => {
    event.preventDefault();
    void begin();
  };
  return (
    <main class="lone">
      <h1>Arrowgate</h1>
      <p>Who read what, and why they were allowed to.</p>
      {ended && <p role="status">Your session has ended. Sign in again to go on.</p>}
      <form onSubmit={submit} class="sign-in">
        <label for="credential">Key or token</label>
        <input
          id="credential"
          type="password"
          autocomplete="current-password"
          required
          value={credential}
          aria-invalid={fault !== undefined}
          aria-describedby="hint"
          onInput={(event) => setCredential(event.currentTarget.value)}
        />
        {fault !== undefined && (
          <p role="alert" class="fault">
            {fault}
          </p>
        )}
        <button type="submit" class="primary" disabled={busy}>
          {busy ? 'Signing in …' : 'Sign in'}
        </button>
        <p id="hint" class="hint">
          It needs the right to audit. The first key is in <code>private/initial-admin-key</code> of
          the data folder; <code>arrowgate keys create --subject NAME --role auditor</code> makes
          others.
        </p>
      </form>
    </main>
  );
}
