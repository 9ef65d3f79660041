/** What each view shows of a fleet, as text. How it looks is for people (test/page/pictures.ts). */
import { expect, test } from 'vitest';
import { rendered, textOf, textsOf } from './rendered.ts';
import * as made from './fleets.ts';
import { ownerLabel } from '../../src/resources/index.ts';
import { accountsView } from '../../src/page/views/accounts.ts';
import { fleetView } from '../../src/page/views/fleet.ts';
import { frame } from '../../src/page/views/frame.ts';
import { moneyView } from '../../src/page/views/money.ts';
import { objectView } from '../../src/page/views/object.ts';
import { loginView } from '../../src/page/views/login.ts';
import { objectsView } from '../../src/page/views/objects.ts';
import { problemsView } from '../../src/page/views/problems.ts';
import { timelineView } from '../../src/page/views/timeline.ts';
import { treeView } from '../../src/page/views/tree.ts';
import { routeOf } from '../../src/page/route.ts';
import { TreeFocus } from '../../src/page/tree-focus.ts';

const now = { serverMs: made.nowMs, timeZone: 'UTC' };
const head = { total: 2, objects: 10, suspended: [{ reason: 'Paused', count: 2 }] };

test('the start page has the worst problem first, with what to do and the command to copy', () => {
  const view = problemsView({ head, problems: made.problems, summary: made.summary() }, now);
  const [first = '', second = ''] = textsOf(view, 'article');
  expect(first).toMatch(/^InvalidSpec 1 object in shop\/default, critical/);
  expect(first).toContain('for 2 h 1 min');
  expect(first).toContain('Correct the document.');
  expect(first).toContain('fleetkeeper describe ContainerService/web -n shop --source fleet');
  expect(second).toContain('and 4 more');
  expect(textsOf(view, 'h1')).toEqual(['1 problem']);
  expect(textsOf(view, '[aria-labelledby=others] .reason')).toHaveLength(1);
});

test('without problems it says so, and how old its knowledge is', () => {
  const none = { total: 0, objects: 0, suspended: [] };
  const accounts = Array.from({ length: 14 }, () => made.account);
  const summary = made.summary({ accounts, oldestReadAt: made.at(15) });
  const text = textOf(problemsView({ head: none, problems: [], summary }, now));
  expect(text).toContain('Nothing needs you');
  expect(text).toContain('All 14 accounts were read in the last 15 s.');
});

test('an account that was never read is no good news', () => {
  const accounts = [made.account, { ...made.account, readAt: null }];
  const view = problemsView(
    { head, problems: [], summary: made.summary({ accounts, oldestReadAt: null }) },
    now,
  );
  expect(textOf(view)).toContain('1 account was never read.');
  const none = { total: 0, objects: 0, suspended: [] };
  for (const bad of [{ up: false }, { isStale: true }]) {
    const summary = made.summary({ accounts: [made.account, { ...made.account, ...bad }] });
    const text = textOf(problemsView({ head: none, problems: [], summary }, now));
    expect(text).toContain('No problem is known');
    expect(text).not.toContain('Nothing needs you');
  }
});

test('while there are more problems than are shown, there is no good news', () => {
  const others = made.problems.filter(({ turn }) => turn === 'provider');
  const view = problemsView({ head: { ...head, total: 61 }, problems: others, summary: made.summary() }, now);
  expect(textsOf(view, 'h1')).toEqual(['61 problems']);
  expect(textOf(view)).toContain('None of those that are shown needs you.');
  expect(textOf(view)).toContain('and 60 more problems');
  expect(textOf(view)).not.toContain('Nothing needs you');
  expect(rendered(view).querySelector('.empty .ok, .state.ok')).toBeNull();
});

test('accounts that are not shown count: for the good news, for their age, and for the balance that ends first', () => {
  const summary = made.summary({
    accountCounts: { all: 180, current: 180, unread: 0 },
    runwaySeconds: 7200,
    oldestReadAt: made.at(15),
  });
  const none = { total: 0, objects: 0, suspended: [] };
  const start = (shown: typeof summary) =>
    textOf(problemsView({ head: none, problems: [], summary: shown }, now));
  expect(start(summary)).toContain('Nothing needs you');
  expect(start(summary)).toContain('All 180 accounts were read in the last 15 s.');
  expect(start(summary)).toContain('Balance lasts 2 h');
  expect(textOf(accountsView(summary, now))).toContain('and 179 more accounts');
  const behind = { ...summary, accountCounts: { all: 180, current: 179, unread: 1 }, oldestReadAt: null };
  expect(start(behind)).toContain('No problem is known');
  expect(start(behind)).toContain('1 account was never read.');
});

test('a namespace that can not be read is no good news either', () => {
  const none = { total: 0, objects: 0, suspended: [] };
  const summary = made.summary({ isComplete: false, notes: ['lab can not be read now'] });
  const view = problemsView({ head: none, problems: [], summary }, now);
  expect(textOf(view)).toContain('No problem is known');
  expect(textOf(view)).not.toContain('Nothing needs you');
  expect(textOf(view)).toContain('lab can not be read now');
});

const login = (more: Partial<Parameters<typeof loginView>[0]> = {}) =>
  loginView({ status: 401, failure: undefined, onToken: () => undefined, ...more });

test.each([
  [undefined, ['--page-token-file']],
  [['token-file'], ['--page-token-file']],
  [['kubernetes'], ['kubectl create token NAME']],
  [
    ['kubernetes', 'oidc'],
    ['kubectl create token NAME', 'proxy that signs people in'],
  ],
])('who has to enter a token of %j reads where it comes from', (access, texts) => {
  const view = login(access === undefined ? {} : { access });
  const hints = textsOf(view, 'form .muted');
  expect(hints).toEqual(texts.map((text) => expect.stringContaining(text) as string));
  expect(rendered(view).querySelectorAll('input[name=token]')).toHaveLength(1);
});

test('where tokens come by a proxy alone, there is no form that can only fail', () => {
  const view = login({ access: ['oidc'] });
  expect(rendered(view).querySelector('form')).toBeNull();
  expect(textOf(view)).toContain('You are not signed in. Open this page by the proxy');
});

test.each([
  [401, 'This token is not accepted.'],
  [413, 'This is too long to be a token.'],
  [503, 'The token could not be checked (503). Try again.'],
  [0, 'The server does not answer. Try again.'],
])('a form that was answered with %i has the reason', (failure, text) => {
  expect(textsOf(login({ failure }), '[role=alert]')).toEqual([text]);
  expect(textsOf(login(), '[role=alert]')).toEqual([]);
});

test('what is suspended has its own section, and is not healthy', () => {
  const view = problemsView({ head, problems: made.problems, summary: made.summary() }, now);
  expect(textsOf(view, '[aria-labelledby=suspended] li')).toEqual(['Paused 2 objects']);
  expect(rendered(view).querySelector('.state.ok')).toBeNull();
});

test('an object begins with the sentence that says why, in the zone of its reader', () => {
  const [, why = ''] = textsOf(objectView(made.objectAnswer(made.waiting), now), '.sentence, .now');
  expect(why).toBe(
    'Waits since 14:02: no capacity for 4 GPUs in europe; next attempt 14:31; refused 7 times; 3 of 4 candidates are full.',
  );
  const inTokyo = objectView(made.objectAnswer(made.waiting), { ...now, timeZone: 'Asia/Tokyo' });
  expect(textOf(inTokyo)).toContain('Waits since 23:02');
  expect(rendered(inTokyo).querySelector('.sentence time')?.getAttribute('title')).toBe(
    '2026-11-27 14:02:00 UTC',
  );
});

test('an endpoint is text, whatever its protocol is', () => {
  for (const endpoint of [
    'javascript:alert(1)',
    'data:text/html,<script>alert(1)</script>',
    'https://a.example',
  ]) {
    const view = objectView(made.objectAnswer(made.waiting, { observed: { endpoint } }), now);
    expect(textOf(view)).toContain(endpoint);
    const links = Array.from(rendered(view).querySelectorAll('a'), (link) => link.getAttribute('href') ?? '');
    expect(links.length).toBeGreaterThan(0);
    expect(links.filter((href) => !href.startsWith('#/') && !href.startsWith('https:'))).toEqual([]);
    expect(rendered(view).querySelectorAll('script')).toHaveLength(0);
  }
});

test('an object shows drift with what becomes of it, its protection, and what was done', () => {
  const answer = made.objectAnswer(made.broken, {
    drift: [
      {
        path: 'image',
        kind: 'Changed',
        wanted: 'nginx:1.27',
        actual: 'nginx:1.26',
        since: made.at(400),
        cause: null,
        will: { what: 'restored', at: made.at(-60) },
      },
    ],
    activities: [
      {
        task: 'train-3-days',
        key: 'ProtectedTask/shop/train-3-days',
        activityId: 'a',
        state: 'Registered',
        isReleased: false,
        reason: null,
        message: null,
        heartbeatAt: made.at(12),
        renewedBy: 'this manager',
      },
    ],
  });
  const view = objectView(answer, now);
  expect(textsOf(view, '[aria-labelledby=drift] tbody td')).toEqual([
    'image',
    'nginx:1.27',
    'nginx:1.26',
    'restored 14:13',
    '6 min',
  ]);
  expect(textsOf(view, '[aria-labelledby=protection] li')).toEqual([
    'Registered train-3-days heartbeat 12 s ago, sent by this manager',
  ]);
  expect(textsOf(view, '[aria-labelledby=mutations] tbody tr')[0]).toBe(
    '14:11:30 create-service Create scale of the fleet llm: schedule nights refused CAPACITY_UNAVAILABLE: no hosts with 4 free GPUs 140 ms',
  );
});

const shell = {
  onFilter: () => undefined,
  onNext: () => undefined,
  onType: () => undefined,
  kinds: ['ContainerService'],
  healths: ['Down'],
};

test('a list names what it leaves out, and has a way to take a filter back', () => {
  const query = { reason: 'NoCapacity' };
  const view = objectsView({ query, total: 10_000, rows: made.rows(100), ...shell }, now);
  expect(textOf(view)).toContain('10,000 objects');
  expect(textOf(view)).toContain('100 shown Next page');
  const last = objectsView({ query, total: 10_000, rows: made.rows(20), ...shell }, now);
  expect(textOf(last)).not.toContain('Next page');
  const [remove] = rendered(view).querySelectorAll('a.button');
  expect(remove?.getAttribute('href')).toBe('#/objects');
  expect(remove?.getAttribute('aria-label')).toBe('Remove the filter reason NoCapacity');
});

test('a list has the sentence of what is not well, in the zone of its reader, and only the reason of the rest', () => {
  const [well = made.waiting] = made.rows(1);
  const view = objectsView({ query: {}, total: 2, rows: [made.waiting, well], ...shell }, now);
  expect(textsOf(view, 'tbody td:nth-child(3)')).toEqual([
    'NoCapacity Waits since 14:02: no capacity for 4 GPUs in europe; next attempt 14:31; refused 7 times; 3 of 4 candidates are full.',
    'Running',
  ]);
});

test('in the tree, a namespace is named where it begins', () => {
  const [account, , , , , , web] = made.nodes;
  if (!account || !web) throw new Error('they are there');
  const other = Object.assign({}, web, { id: 'ContainerService/lab/web', name: 'lab/web' });
  const nodes = [
    Object.assign({}, account, { name: 'shop/default' }),
    Object.assign({}, web, { name: 'shop/web' }),
    other,
  ];
  const view = treeView({
    nodes,
    omitted: 0,
    isUnfolded: () => true,
    onFold: () => undefined,
    treeFocus: new TreeFocus(),
    onReach: () => undefined,
    now,
  });
  const names = textsOf(view, '.row .name').map((text) => text.split(' ')[0]);
  expect(names).toEqual(['shop/default', 'web', 'lab/web']);
});

test('a folded node of the tree shows the worst below it and how many, and an unfolded one its own state', () => {
  const view = (open: readonly string[]) =>
    treeView({
      nodes: made.nodes,
      omitted: 3,
      isUnfolded: ({ id }) => open.includes(id),
      onFold: () => undefined,
      treeFocus: new TreeFocus(),
      onReach: () => undefined,
      now,
    });
  const rowsOf = (open: readonly string[]) => textsOf(view(open), '.row');
  expect(rowsOf([])).toEqual(['default Account Held Connected']);
  expect(rowsOf(['Account/shop/default'])).toEqual([
    'default Account Healthy Connected',
    'llm ServiceFleet 3 Waiting RollingOut: Ready.',
    'web ContainerService Held InvalidSpec: Ready.',
    'notebook ContainerService Suspended Paused: Ready.',
  ]);
  expect(textOf(view([]))).toContain('3 nodes more are not shown');
});

test('a tree is one for a screen reader: items with their level and place, of which Tab reaches one', () => {
  const treeFocus = new TreeFocus();
  treeFocus.focused('ContainerService/shop/web');
  const view = treeView({
    nodes: made.nodes,
    omitted: 0,
    isUnfolded: ({ id }) => id === 'Account/shop/default',
    onFold: () => undefined,
    treeFocus,
    onReach: () => undefined,
    now,
  });
  const element = rendered(view);
  const items = Array.from(element.querySelectorAll('[role=tree] [role=treeitem]'));
  const named = (name: string) => items.map((each) => each.getAttribute(name));
  expect(named('aria-level')).toEqual(['1', '2', '2', '2']);
  expect(named('aria-posinset')).toEqual(['1', '1', '2', '3']);
  expect(named('aria-setsize')).toEqual(['1', '3', '3', '3']);
  expect(named('aria-expanded')).toEqual(['true', 'false', 'false', null]);
  expect(named('tabindex')).toEqual(['-1', '-1', '0', '-1']);
  const group = items[0]?.getAttribute('aria-owns') ?? 'none';
  expect(element.querySelectorAll(`[role=group]#${group} [role=treeitem]`)).toHaveLength(3);
});

test('a fleet shows its slots, with the revision that a slot has and the one it gets', () => {
  const view = fleetView({ fleet: made.fleet, slots: made.slots }, now);
  expect(textsOf(view, '.slot')).toEqual([
    '0 Healthy r7, europe',
    '1 Healthy r7, europe protected',
    '2 Working r5 → r7, europe draining',
    '3 Waiting r5 → r7, us-west',
  ]);
  expect(textsOf(view, '[aria-current=step]')).toEqual(['pause of 5 min']);
});

test('a rollout shows how far it is, and that the rest follows when all its steps are done', () => {
  const stepsOf = (rollout: object) => {
    const view = fleetView(
      { fleet: { ...made.fleet, rollout: { ...made.fleet.rollout, ...rollout } }, slots: made.slots },
      now,
    );
    return [textsOf(view, '[aria-labelledby=rollout] .line')[0], textsOf(view, '[aria-current=step]')];
  };
  expect(stepsOf({ revision: 'r7' })).toEqual(['Progress2 of 4 replicas at r7', ['pause of 5 min']]);
  expect(stepsOf({ revision: 'r7', step: undefined })).toEqual([
    'Progress2 of 4 replicas at r7',
    ['all replicas'],
  ]);
});

test('what costs are not known is not shown as nothing', () => {
  const figures = (more: object) =>
    textsOf(
      moneyView({ ...made.money, isComplete: false, ...more }, () => undefined, now),
      '.figures dd',
    );
  expect(figures({})).toEqual(['at least $15.52/h', 'at least $11,329.60', '$10,964.00', '3 d 5 h']);
  expect(figures({ accounts: [] })).toEqual(['not known', 'not known', '–', '–']);
});

test('a fleet says why replicas are not as they are to be, without a click', () => {
  const waiting = {
    health: 'Waiting',
    sentence: `Waits since ${made.at(630)}: a task protects it.`,
  } as const;
  const slots = made.slots.map((slot, index) => (index === 3 ? { ...slot, ...waiting } : slot));
  expect(textsOf(fleetView({ fleet: made.fleet, slots }, now), '.reasons li')).toEqual([
    'Replica 2 ready.',
    'Replica 3 waits since 14:02: a task protects it.',
  ]);
  const many = Array.from({ length: 12 }, (_, slot) =>
    Object.assign({}, slots[3], { slot, key: `s${slot}` }),
  );
  const lines = textsOf(fleetView({ fleet: made.fleet, slots: many }, now), '.reasons li');
  expect([lines.length, lines.at(-1)]).toEqual([6, 'and 7 more replicas']);
});

test('money shows each budget with what is used, reserved and expected', () => {
  const view = moneyView(made.money, () => undefined, now);
  expect(textsOf(view, '.budget')[0]).toContain('$11.20 of $15.00/h, 74 %, $1.94/h reserved');
  expect(textsOf(view, '.budget')[0]).toContain('$4,870.00 of $6,000.00, 81 %, $5,600.00 expected');
  expect(textOf(view)).toContain('1 object without a known price');
  expect(textOf(view)).toContain('about $10,964.00');
  expect(textsOf(view, '.figures > div')).toEqual([
    'Cost now $15.52/h',
    'A month of 730 h at this rate $11,329.60',
    'This month, expected $10,964.00',
    'Balance lasts 3 d 5 h',
  ]);
});

test('money shows what each group has spent this month, if anybody has counted it', () => {
  const linesOf = (more: object) =>
    textsOf(
      moneyView({ ...made.money, ...more }, () => undefined, now),
      '[aria-labelledby=groups] tr',
    );
  expect(linesOf({})).toEqual([
    'Namespace Cost now Share Spent this month Expected',
    'shop 41 objects $11.20/h 72 % $4,870.00 $12.50 of it estimated $5,710.00',
    'lab 7 objects $3.88/h 25 % – –',
    'not managed by Fleetkeeper 1 object $0.44/h 2 % – –',
  ]);
  const rows = made.money.rows.map((row) => Object.assign({}, row, made.nothingCounted));
  expect(linesOf({ rows })).toEqual([
    'Namespace Cost now Share',
    'shop 41 objects $11.20/h 72 %',
    'lab 7 objects $3.88/h 25 %',
    'not managed by Fleetkeeper 1 object $0.44/h 2 %',
  ]);
});

test('in a column of the objects, all costs have as many decimals', () => {
  const costs = [12_250_000, 27_000];
  const rows = made.rows(2).map((row, index) => Object.assign({}, row, { hourlyMicros: costs[index] }));
  const view = objectsView({ query: {}, total: 2, rows, ...shell }, now);
  expect(textsOf(view, 'tbody .number.roomy:not(.muted)')).toEqual(['$12.2500/h', '$0.0270/h']);
});

test('an account that fails says why, and since when it was not read', () => {
  const text = textOf(accountsView(made.summary({ accounts: [made.account, made.failing] }), now));
  expect(text).toContain('18.4 of 20 a second; 3 wait; 2 answered with 429');
  expect(text).toContain('Unauthorized the API refuses the key (401)');
  expect(text).toContain('1 h 30 min ago');
});

const timeline = {
  query: {},
  limits: '',
  hasMore: false,
  accounts: ['shop/default'],
  moreAccounts: 0,
  older: { state: 'unread', behind: () => [] },
  onOlder: () => undefined,
  onFilter: () => undefined,
} as const;

test('a timeline has why each request was sent, and who asked for it', () => {
  const view = timelineView({ ...timeline, mutations: made.mutations }, now);
  expect(textsOf(view, 'th')).toEqual(['When', 'What', 'Object', 'Why, and who asked', 'Outcome', 'Took']);
  expect(textsOf(view, 'tbody tr').map((text) => text.replace(/ (applied|refused|unknown).*$/, ''))).toEqual([
    '14:11:30 create-service trainer ContainerService in shop Create scale of the fleet llm: schedule nights',
    '14:04:50 patch-service llm-2 ContainerService in shop SpecChanged: image, env.LEVEL rollout of the fleet llm to revision 3',
    '13:58:10 restart-service web ContainerService in shop RestartRequested: restartToken restart token 2',
    '13:51:30 grow-volume data StorageVolume in shop – generation 3 of the document',
  ]);
});

test('a timeline says how far back it goes', () => {
  const limits = 'The newest 20 mutations of each object.';
  expect(textOf(timelineView({ ...timeline, mutations: made.mutations, limits }, now))).toContain(limits);
});

test('a timeline is filtered by object and account, and has a way to older ones', () => {
  const query = { object: 'ContainerService/shop/web', account: 'gone/away' };
  const view = (more: object) =>
    timelineView({ ...timeline, query, mutations: made.mutations, ...more }, now);
  const element = rendered(view({}));
  expect(element.querySelector<HTMLInputElement>('input[name=object]')?.value).toBe(query.object);
  expect(textsOf(view({}), 'select option')).toEqual(['all', 'gone/away', 'shop/default']);
  expect(textOf(view({ mutations: [] }))).toContain('No mutation that matches');
  expect(textsOf(view({}), 'button')).toEqual([]);
  const [last] = made.mutations;
  const older = { state: 'partly', behind: () => [{ ...last, idempotencyKey: 'older', action: 'of-old' }] };
  expect(textsOf(view({ older }), 'tbody tr').at(-1)).toContain('of-old');
  expect(textsOf(view({ older }), 'button')).toEqual(['Older ones']);
  expect(textsOf(view({ older: { ...older, state: 'complete' } }), 'button')).toEqual([]);
});

test('where not all accounts are listed, a timeline shows how many there are, and lets one be typed', () => {
  const asked: Readonly<Record<string, string>>[] = [];
  const query = { object: 'ContainerService/shop/web', account: 'team-7/late' };
  const model = { ...timeline, query, mutations: [], moreAccounts: 249 };
  const element = rendered(timelineView({ ...model, onFilter: (next) => asked.push(next) }, now));
  const input = element.querySelector<HTMLInputElement>('input[name=account]');
  expect(input?.value).toBe('team-7/late');
  expect(input?.closest('label')?.textContent).toContain('1 of 250 are suggested');
  expect(element.querySelectorAll('select')).toHaveLength(0);
  const suggested = element.querySelectorAll(`datalist#${input?.getAttribute('list')} option`);
  expect(Array.from(suggested, (option) => option.getAttribute('value'))).toEqual(['shop/default']);
  if (input) input.value = ' team-9/other ';
  input?.dispatchEvent(new (element.ownerDocument.defaultView?.Event ?? Event)('change'));
  expect(asked).toEqual([{ ...query, account: 'team-9/other' }]);
});

test('while older mutations may match, a timeline has a way to them, and does not call itself empty', () => {
  const query = { object: 'ContainerService/shop/web' };
  const view = (more: object) =>
    timelineView({ ...timeline, query, hasMore: true, mutations: [], ...more }, now);
  expect(textsOf(view({ mutations: made.mutations }), 'button')).toEqual(['Older ones']);
  const none = view({});
  expect(textOf(none)).toContain('None of the newest mutations matches');
  expect(textsOf(none, 'button')).toEqual(['Older ones']);
  const complete = { state: 'complete', behind: () => [] };
  expect(textOf(view({ older: complete }))).toContain('Nothing was changed');
  const found = { state: 'complete', behind: () => made.mutations };
  expect(textsOf(view({ older: found }), 'tbody tr')).toHaveLength(made.mutations.length);
});

test.each([
  ['UTC', '2026-11-27T14:05'],
  ['Asia/Tokyo', '2026-11-27T23:05'],
])('a timeline is filtered by time, in the zone of its reader: %s', (timeZone, shown) => {
  const asked: Readonly<Record<string, string>>[] = [];
  const query = { account: 'shop/default', from: '2026-11-27T14:05:00.000Z' };
  const model = {
    ...timeline,
    query,
    mutations: [],
    onFilter: (next: (typeof asked)[number]) => asked.push(next),
  };
  const element = rendered(timelineView(model, { ...now, timeZone }));
  const field = (name: string) => element.querySelector<HTMLInputElement>(`input[name=${name}]`);
  expect([field('from')?.value, field('to')?.value]).toEqual([shown, '']);
  const type = (name: string, value: string) => {
    const input = field(name);
    if (!input) throw new Error(`there is no field ${name}`);
    input.value = value;
    input.dispatchEvent(new (element.ownerDocument.defaultView?.Event ?? Event)('change'));
  };
  // To the end of the minute, so that what is shown at that minute is in it.
  type('to', shown);
  type('from', '');
  expect(asked).toEqual([
    { ...query, to: '2026-11-27T14:05:59.000Z' },
    { ...query, from: '' },
  ]);
});

test('one click shows what was done in the last ten minutes', () => {
  const query = { account: 'shop/default', to: '2026-11-26T00:00:00.000Z' };
  const element = rendered(timelineView({ ...timeline, query, mutations: made.mutations }, now));
  const links = Array.from(element.querySelectorAll('[aria-label=Time] a'), (link) => [
    link.textContent?.trim(),
    link.getAttribute('href'),
  ]);
  expect(links.slice(0, 2)).toEqual([
    ['all', '#/timeline?account=shop%2Fdefault'],
    ['last 10 min', '#/timeline?account=shop%2Fdefault&from=2026-11-27T14%3A02%3A00.000Z'],
  ]);
});

test('brakes that are engaged are on the view of the accounts, with how far they reach, why, and how to continue', () => {
  const engaged = [
    made.brake,
    Object.assign({}, made.brake, { account: null, namespace: null, count: 0, since: null }),
  ];
  const view = accountsView(made.summary({ brakes: engaged }), now);
  const [first, second] = textsOf(view, '[aria-labelledby=brakes] article');
  expect(first).toBe(
    'MassChangeBrake stops creations and deletions in shop/default for 10 min ' +
      '12 of 40 objects have left the source within a minute: run fleetkeeper apply --allow-mass-change 3 objects',
  );
  expect(second).toMatch(/^MassChangeBrake stops creations and deletions in the whole fleet 12 of 40/);
  expect(rendered(view).querySelector('[aria-labelledby=brakes] .who a')?.getAttribute('href')).toBe(
    '#/objects?reason=MassChangeBrake&account=shop%2Fdefault',
  );
});

test('a brake on all creations and deletions is on every view, and one on the drift of some objects is not', () => {
  const route = { view: 'tree', path: [], query: {} } as const;
  const model = (reason: string) =>
    ({
      route,
      connection: { is: 'live', heardAt: 0 },
      summary: made.summary({ brakes: [{ ...made.brake, reason }] }),
      silentMs: 0,
      isOutdated: false,
      onReload: () => undefined,
      onTry: () => undefined,
    }) as const;
  expect(textsOf(frame(model('MassChangeBrake'), '', now), '[role=alert]')).toEqual([
    'A brake stops creations and deletions in shop/default. Why, and how to continue',
  ]);
  expect(textsOf(frame(model('MassDrift'), '', now), '[role=alert]')).toEqual([]);
});

test('money shows which prices have changed, by how much and when', () => {
  const view = moneyView(made.money, () => undefined, now);
  expect(textsOf(view, '[aria-labelledby=prices] tbody tr')).toEqual([
    '4 GPU, 16 CPU, 128 GB (h100) standard, europe in shop/default $1.94 → $2.33/h +20 % 3 h ago',
  ]);
  const none = moneyView({ ...made.money, priceChanges: [] }, () => undefined, now);
  expect(textsOf(none, '[aria-labelledby=prices]')).toEqual([]);
});

test('money can be grouped by a label, such as the team', () => {
  const view = moneyView({ ...made.money, by: 'label=team' }, () => undefined, now);
  expect(textsOf(view, '#groups')).toEqual(['By label team']);
  expect(rendered(view).querySelector<HTMLInputElement>('input[name=label]')?.value).toBe('team');
});

test.each([
  ['namespace', 'shop', '#/objects?namespace=shop&sort=cost'],
  ['account', 'shop/default', '#/objects?account=shop%2Fdefault&sort=cost'],
  ['fleet', 'llm', `#/objects?label=${encodeURIComponent(`${ownerLabel}=llm`)}&sort=cost`],
  ['label=team', 'search', '#/objects?label=team%3Dsearch&sort=cost'],
  ['label=team', 'a,b!=c', undefined],
  ['label=team', null, undefined],
])('what money is spent on by %s leads to the objects of %s', (by, name, href) => {
  const row = { name, things: 2, hourlyMicros: 5, aheadMicros: 5, unpriced: 0, ...made.nothingCounted };
  const view = moneyView({ ...made.money, by, rows: [row] }, () => undefined, now);
  const link = rendered(view).querySelector('[aria-labelledby=groups] tbody th a');
  expect(link?.getAttribute('href')).toBe(href);
});

test('an object has what comes next, unless its sentence has that already', () => {
  const [moment] = made.waiting.sentence.parts.flatMap((part) => ('time' in part ? [part.time] : []));
  const times = [
    { at: moment ?? null, what: 'mentioned' },
    { at: made.at(-600), what: 'it counts as stalled' },
    { at: null, what: 'without a time' },
  ];
  const answer = made.objectAnswer(made.waiting);
  const view = objectView({ ...answer, plan: { ...answer.plan, times } }, now);
  expect(textsOf(view, '.reasons li')).toEqual(['At 14:22: it counts as stalled']);
});

test('no screen reader announces an age that changes each second', () => {
  const route = { view: 'tree', path: [], query: {} } as const;
  const actions = { onReload: () => undefined, onTry: () => undefined, isOutdated: false };
  for (const is of ['live', 'stale'] as const) {
    const connection = { is, heardAt: 0, attempt: 1 } as const;
    const model = { route, connection, summary: made.summary(), silentMs: 61_000, ...actions };
    const view = frame(model, '', now);
    expect(textOf(view)).toMatch(/read \d s ago|for 1 min/);
    for (const text of textsOf(view, '[role=status], [role=alert]')) expect(text).not.toMatch(/\d (s|min)\b/);
  }
});

test('what was refused several times in a row is one line, with the newest and how often', () => {
  const [refused] = made.mutations;
  if (!refused) throw new Error('there is one');
  const other = { ...refused, object: 'ContainerService/shop/other', idempotencyKey: 'o' };
  const times = [10, 70, 130].map((age) =>
    Object.assign({}, refused, { at: made.at(age), idempotencyKey: `k${age}` }),
  );
  const view = timelineView({ ...timeline, mutations: [...times, other, refused] }, now);
  const rows = textsOf(view, 'tbody tr');
  expect(rows.map((row) => /\d×/.exec(row)?.[0])).toEqual(['3×', undefined, undefined]);
  expect(rows[0]).toMatch(/^14:12:20 /);
});

test('without a manager at work, every view says so', () => {
  const manager = {
    state: 'Lost',
    host: 'host-1',
    pid: 4711,
    startedAt: null,
    seenAt: made.at(400),
    note: null,
  };
  const summary = made.summary({ manager });
  const route = { view: 'tree', path: [], query: {} } as const;
  const model = {
    route,
    connection: { is: 'live', heardAt: 0 },
    summary,
    silentMs: 0,
    isOutdated: false,
    onReload: () => undefined,
    onTry: () => undefined,
  } as const;
  expect(textsOf(frame(model, '', now), '[role=alert]')[0]).toContain(
    'No manager is at work (Lost on host-1',
  );
  const note = 'the Kubernetes API does not answer: refused';
  const unknown = made.summary({ manager: { ...manager, state: 'Unknown', note } });
  const [banner] = textsOf(frame({ ...model, summary: unknown }, '', now), '[role=alert]');
  expect(banner).toContain('Whether a manager is at work is not known');
  expect(banner).toContain(note);
});

test.each([
  ['a hostile name', '<img src=x onerror=alert(1)>'],
  ['a script', '</pre><script>alert(1)</script>'],
])('%s is text in every field', (_, hostile) => {
  const row = made.row(`ContainerService/shop/${encodeURIComponent(hostile)}`, {
    name: hostile,
    reason: hostile,
    state: hostile,
    account: hostile,
    sentence: made.sentence(hostile),
  });
  const answer = made.objectAnswer(row, { yaml: hostile, labels: { team: hostile } });
  const [first] = made.problems;
  const problems = first ? [{ ...first, message: hostile, command: hostile, objects: [row.key] }] : [];
  for (const view of [
    objectView(answer, now),
    objectsView({ query: { reason: hostile }, total: 1, rows: [row], ...shell }, now),
    problemsView({ head, problems, summary: undefined }, now),
  ]) {
    const element = rendered(view);
    expect(element.querySelectorAll('img, script, style, [style], [onerror]')).toHaveLength(0);
    expect(element.textContent).toContain(hostile);
  }
});

test.each(['#/constructor', '#/toString', '#/__proto__/a/b/c'])('%s is no view', (hash) => {
  expect(routeOf(hash).view).toBe('unknown');
});
