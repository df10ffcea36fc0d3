import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, get, signOut, SIGNED_OUT } from './api.ts';
import { Link, usePlace, type Place } from './router.tsx';
import { Failure, Loading } from './states.tsx';
import type { Me } from './types.ts';
import { Access } from './views/access.tsx';
import { Catalog } from './views/catalog.tsx';
import { Dropped } from './views/dropped.tsx';
import { Integrity } from './views/integrity.tsx';
import { Keys } from './views/keys.tsx';
import { Policy } from './views/policy.tsx';
import { Rules } from './views/rules.tsx';
import { Overview } from './views/overview.tsx';
import { RequestPage } from './views/request.tsx';
import { SignIn } from './views/sign-in.tsx';
import { Trail } from './views/trail.tsx';

type Session =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'none'; readonly ended: boolean }
  | { readonly kind: 'failed'; readonly error: ApiError }
  | { readonly kind: 'open'; readonly me: Me };

export function App() {
  const [session, setSession] = useState<Session>({ kind: 'unknown' });
  const look = (): void => {
    get<Me>('me')
      .then((me) => setSession({ kind: 'open', me }))
      .catch((error: unknown) => {
        const refused = error instanceof ApiError ? error : new ApiError(0, String(error));
        if (refused.status === 401) setSession({ kind: 'none', ended: false });
        else setSession({ kind: 'failed', error: refused });
      });
  };
  useEffect(() => {
    look();
    const ended = (): void => setSession({ kind: 'none', ended: true });
    window.addEventListener(SIGNED_OUT, ended);
    return () => window.removeEventListener(SIGNED_OUT, ended);
  }, []);
  if (session.kind === 'unknown') return <Loading what="the console" />;
  if (session.kind === 'none') return <SignIn ended={session.ended} signedIn={look} />;
  if (session.kind === 'open') {
    return <Shell me={session.me} left={() => setSession({ kind: 'none', ended: false })} />;
  }
  return (
    <main class="lone">
      <h1>Arrowgate</h1>
      <Failure error={session.error} retry={look} />
    </main>
  );
}

interface ShellProps {
  readonly me: Me;
  readonly left: () => void;
}

const VIEWS = [
  ['', 'Overview'],
  ['trail', 'Trail'],
  ['catalog', 'Catalog'],
  ['access', 'Access'],
  ['policy', 'Policy'],
  ['rules', 'Rules'],
  ['keys', 'Keys'],
  ['integrity', 'Integrity'],
] as const;

function Shell({ me, left }: ShellProps) {
  const place = usePlace();
  const main = useRef<HTMLElement>(null);
  const [section = ''] = place.path.split('/');
  const title = VIEWS.find(([path]) => path === section)?.[1] ?? 'Request';
  const first = useRef(true);
  useEffect(() => {
    document.title = `${title} · Arrowgate`;
    // A reader of the screen begins at the new page.
    if (!first.current) main.current?.focus();
    first.current = false;
  }, [place.path]);
  const leave = (): void => {
    signOut().then(left, left);
  };
  return (
    <div class="shell">
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="bar">
        <Link to="" class="brand">
          Arrowgate
        </Link>
        <nav aria-label="Console">
          {VIEWS.map(([path, name]) => (
            <Link
              key={path}
              to={path}
              current={path === section || (path === 'trail' && section === 'request')}
            >
              {name}
            </Link>
          ))}
        </nav>
        <div class="who">
          <span class="name" title={me.roles.join(', ')}>
            {me.subject}
          </span>
          <button type="button" class="quiet" onClick={leave}>
            Sign out
          </button>
        </div>
      </header>
      <main id="main" tabIndex={-1} ref={main}>
        <View place={place} />
      </main>
      <footer>
        Arrowgate {me.version}. Every call of this console is a record of the audit log.
      </footer>
    </div>
  );
}

function View({ place }: { readonly place: Place }) {
  const [section, id] = place.path.split('/');
  if (section === '') return <Overview query={place.query} />;
  if (section === 'trail') return <Trail query={place.query} />;
  if (section === 'access') return <Access part={id ?? ''} query={place.query} />;
  if (section === 'catalog' && id === 'dropped') return <Dropped />;
  if (section === 'catalog') return <Catalog query={place.query} />;
  if (section === 'policy') return <Policy part={id ?? ''} query={place.query} />;
  if (section === 'rules') return <Rules query={place.query} />;
  if (section === 'integrity') return <Integrity />;
  if (section === 'keys') return <Keys query={place.query} />;
  if (section === 'request' && id !== undefined) {
    return <RequestPage key={id} decisionId={id} began={place.query.get('began')} />;
  }
  return (
    <div class="state empty">
      <h1>There is no such page</h1>
      <Link to="">Go to the overview</Link>
    </div>
  );
}
