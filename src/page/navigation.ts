/** What the browser does when somebody moves within a page: what gets the focus, and what is in sight. */
import type { Place, Places } from './places.ts';

/** From now on, a link within the page that is followed is remembered. */
export function followLinks(places: Places): void {
  addEventListener('click', (event) => {
    const { target, ctrlKey, metaKey, shiftKey, defaultPrevented } = event;
    const href = target instanceof Element ? target.closest('a')?.getAttribute('href') : undefined;
    const isWithin = typeof href === 'string' && href.startsWith('#/') && href !== location.hash;
    if (!isWithin || ctrlKey || metaKey || shiftKey || defaultPrevented) return;
    places.follow(location.hash, { href, scrolled: scrollY });
  });
}

/** To the link that led away, if it is still there. */
export function goTo({ href, scrolled }: Place): void {
  const links = document.querySelectorAll<HTMLAnchorElement>('a[href]');
  const link = Array.from(links).find((each) => each.getAttribute('href') === href);
  link?.focus({ preventScroll: true });
  scrollTo(0, scrolled);
}

/** To the beginning of a view. */
export function toContent(): void {
  scrollTo(0, 0);
  document.getElementById('content')?.focus({ preventScroll: true });
}
