/** Where Back leads to. */
import { expect, test } from 'vitest';
import { mostPlaces, Places } from '../../src/page/places.ts';

const place = { href: '#/objects/a/b/c', scrolled: 700 };

test('Back leads to the link that was followed, and a link leads to the begin of a view', () => {
  const places = new Places();
  places.follow('#/objects', place);
  expect(places.arrive(place.href)).toBeUndefined();
  expect(places.arrive('#/objects')).toEqual(place);
  places.follow('#/objects/a/b/c');
  expect(places.arrive('#/objects')).toBeUndefined();
});

test('an address that nobody left has no place', () => {
  expect(new Places().arrive('#/tree')).toBeUndefined();
});

test('the view that was left longest ago is forgotten', () => {
  const places = new Places();
  for (let index = 0; index <= mostPlaces; index++) {
    places.follow(`#/${index}`, { href: `#/${index + 1}`, scrolled: index });
    places.arrive(`#/${index + 1}`);
  }
  expect(places.arrive('#/0')).toBeUndefined();
  expect(places.arrive('#/1')).toEqual({ href: '#/2', scrolled: 1 });
});
