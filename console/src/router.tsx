import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';

const BASE = '/console/';

/** The address of the page, below `/console/`. */
export interface Place {
  readonly path: string;
  readonly query: URLSearchParams;
}

function here(): Place {
  const { pathname, search } = window.location;
  return { path: pathname.slice(BASE.length), query: new URLSearchParams(search) };
}

const MOVED = 'arrowgate-moved';

/** The address, and again whenever it changes. */
export function usePlace(): Place {
  const [place, setPlace] = useState(here);
  useEffect(() => {
    const moved = (): void => setPlace(here());
    window.addEventListener('popstate', moved);
    window.addEventListener(MOVED, moved);
    return () => {
      window.removeEventListener('popstate', moved);
      window.removeEventListener(MOVED, moved);
    };
  }, []);
  return place;
}

/** @param to Path and query below `/console/`. */
export function go(to: string, replace = false): void {
  if (replace) window.history.replaceState(null, '', BASE + to);
  else window.history.pushState(null, '', BASE + to);
  window.dispatchEvent(new Event(MOVED));
}

/** A path with the parameters that have a value. */
export function address(path: string, parameters: Readonly<Record<string, string>>): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== '');
  const query = new URLSearchParams(given).toString();
  return query === '' ? path : `${path}?${query}`;
}

interface LinkProps {
  readonly to: string;
  readonly class?: string;
  readonly current?: boolean;
  readonly title?: string;
  readonly children: ComponentChildren;
}

/** A link within the console. */
export function Link({ to, current, children, ...others }: LinkProps) {
  const follow = (event: MouseEvent): void => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    go(to);
    window.scrollTo(0, 0);
  };
  return (
    <a
      href={BASE + to}
      onClick={follow}
      aria-current={current === true ? 'page' : undefined}
      {...others}
    >
      {children}
    </a>
  );
}
