import type { Command } from 'commander';
import { openPage, withOpenFlags, type OpenFlags } from '../browser.ts';
import { complain, exitCodes, untilStopped, type Context } from '../context.ts';
import { DemoFleet } from '../demo/fleet.ts';
import { isLive, openScreen, type DemoScreen } from '../demo/screen.ts';
import type { DemoStage } from '../demo/stage.ts';
import { DemoStory } from '../demo/story.ts';
import { examplesFolder } from '../examples.ts';
import { pageLine } from '../health.ts';
import { watchProblems } from '../watch-problems.ts';

/** Between the acts: time to read on a terminal. */
const pauseMs = { live: 2500, plain: 300 };

/** `demo`: control plane, manager and a sample fleet, watched live. */
export function defineDemo(command: Command, context: Context, exit: (code: number) => void): void {
  withOpenFlags(command).action(async (flags: OpenFlags) => exit(await demo(context, flags)));
}

async function demo(context: Context, flags: OpenFlags): Promise<number> {
  // With its control plane, which no other command waits for.
  const { openStage } = await import('../demo/stage.ts');
  const live = isLive(context);
  const fleet: DemoFleet = new DemoFleet(context.clock, (event) => screen.tell(event));
  const stage: DemoStage = await openStage(context, {
    onPass: (key, result) => fleet.observe(key, stage.manager.store.record(key), result),
    onSource: watchProblems(
      (text) => screen.tell({ tone: 'bad', subject: 'folder', text }),
      () => screen.tell({ tone: 'good', subject: 'folder', text: 'all problems are mended' }),
    ),
  });
  const { url: page } = stage.page;
  const screen: DemoScreen = openScreen(context, {
    page,
    rows: () => fleet.rows(),
    balanceMicros: () => [...stage.manager.accounts.handles()][0]?.informer.current?.balanceMicros,
    requests: () => countRequests(stage),
  });
  if (!live) screen.post(pageLine(page));
  openPage(context, page, flags);
  try {
    await new DemoStory(context, stage, fleet, screen).play(live ? pauseMs.live : pauseMs.plain);
    if (live && !context.stopped.aborted) {
      screen.post(await yourTurn(stage, context.command));
      screen.act('', 'your turn (what to try is above); Ctrl-C ends');
      await untilStopped(context);
    } else if (!live) {
      const { reads, changes } = await countRequests(stage);
      screen.post(
        `\nAll seen, with ${reads} reads and ${changes} changes sent to the API.\n${byHand(context.command)}`,
      );
    }
    return exitCodes.ok;
  } catch (error) {
    if (!context.stopped.aborted) throw error;
    if (!live) complain(context, 'stopped before all was shown');
    return live ? exitCodes.ok : exitCodes.failed;
  } finally {
    await screen.close();
    await stage.close();
  }
}

async function countRequests({ metrics }: DemoStage): Promise<{ reads: number; changes: number }> {
  const { values } = await metrics.apiRequests.get();
  const counts = { reads: 0, changes: 0 };
  for (const { labels, value } of values) {
    counts[labels.verb === 'GET' ? 'reads' : 'changes'] += value;
  }
  return counts;
}

async function yourTurn(
  { folder, url, page, colleague, colleagueKey, logFile }: DemoStage,
  command: string,
): Promise<string> {
  const storefront = await colleague.idOf('storefront');
  return `
That was all. Your turn: this continues until Ctrl-C. ${page.url} shows what happens. In another terminal, in this folder:

  FLEET=${folder}
  API=${url} KEY=${colleagueKey}

  $EDITOR $FLEET/storefront.yaml    # change the image or the resources, and save
  rm $FLEET/thumbnails.yaml         # and back: cp ${examplesFolder}/fleet/thumbnails.yaml $FLEET
  # stop a service behind the manager's back:
  curl -s -H "Authorization: Bearer $KEY" -H "Idempotency-Key: $(date +%s)" \\
    -H 'Content-Type: application/json' -d '{"action":"stop"}' \\
    $API/api/services/${storefront}/actions
  ${command} status --source $FLEET
  ${command} plan --source $FLEET
  cat ${logFile}    # the manager's warnings, if any
`;
}

function byHand(command: string): string {
  return `
Try next:
  ${command} demo
                                   in a terminal: the same as a live table, and then it is your turn
  the same by hand, in two terminals (docs/quickstart.md has more):
    cp -r ${examplesFolder} /tmp/tour
    ${command} control-plane --listen 127.0.0.1:8787 --time-scale 8 \\
      --database /tmp/tour/control-plane.db --accounts /tmp/tour/control-plane/accounts.yaml
    ${command} plan --source /tmp/tour/fleet
    ${command} apply --source /tmp/tour/fleet --yes
    ${command} status --source /tmp/tour/fleet`;
}
