/** Runs that have found something, by what they found. */
import { plain } from '../dialects/dialect.ts';
import type { CrowdName, PlaceName } from './script.ts';

export interface Regression {
  readonly found: string;
  readonly seed: number;
  readonly place: PlaceName;
  readonly crowd: CrowdName;
  readonly dialect: string;
}

const inFolder = (found: string, seed: number, crowd: CrowdName = 'many'): Regression => ({
  found,
  seed,
  place: 'folder',
  crowd,
  dialect: plain.name,
});
const inCluster = (found: string, seed: number): Regression => ({
  found,
  seed,
  place: 'cluster',
  crowd: 'many',
  dialect: plain.name,
});
/** With all that people do, and providers write, since there are dialects. */
const inDialect = (
  found: string,
  seed: number,
  place: PlaceName,
  dialect: string,
  crowd: CrowdName = 'forged',
): Regression => ({ found, seed, place, crowd, dialect });

/** In a folder, and with small worlds: each takes more than two seconds all the same. */
const long: ReadonlySet<number> = new Set([
  39, 30_033, 40_241, 50_001, 70_039, 600_235, 2_000_010, 4_000_085, 5_000_048, 9_500_361, 10_500_394,
  11_000_363,
]);

/** With `npm test`. The others take longer, and run before a change lands (test/landing/regressions.test.ts). */
export function runsEachTime({ seed, place, crowd }: Regression): boolean {
  return place === 'folder' && crowd !== 'forged' && crowd !== 'fleets' && !long.has(seed);
}

export const regressions: readonly Regression[] = [
  inFolder(
    'a service was deleted for a volume that waits to grow, while somebody was at work in the service that has it',
    39,
    'neighbours',
  ),
  inFolder('a variable that was on too many was corrected together with another one', 13, 'neighbours'),
  inFolder('a disk without room ended the taking in of the source, or the process', 4, 'few'),
  inFolder('a release used a key again when its task had moved to another service', 19, 'few'),
  inFolder('what a service owned did not go with it, when a crash came between', 10041, 'few'),
  inFolder(
    'a refusal for want of funds held back for as long as the wall clock had been set back',
    10090,
    'few',
  ),
  inFolder('a read from before a resize was believed after it', 30033),
  inFolder('a source that could not be written down came back over a newer one', 30172),
  inFolder('what one account read left out was created a second time', 30193),
  inFolder('a volume whose document was put back was deleted after its turn had come', 40241),
  inFolder('a task was renewed under an id whose release had just been acknowledged', 50001),
  inFolder('a service was forgotten whose document was taken out while it was found to be in sync', 70039),
  inFolder(
    'what was created was created again for a document written anew before the next account read',
    100098,
  ),
  inFolder('a read by id that was older than the account read before it was believed', 600235),
  inFolder('a task under the mass-change brake lost its heartbeats when the process started anew', 2000010),
  inFolder(
    'a service was deleted whose document was back, which a full disk kept from being taken in',
    4000085,
  ),
  inFolder('a pause of before the clock was set back lived on with a refusal of another kind', 5000048),
  inFolder(
    'a task that had ended was given up as gone with its service, which two account reads had left out',
    7000050,
  ),
  inFolder('what was declared before could not be taken in at the start was said to be as wanted', 8500075),
  inFolder(
    'a task was beaten for under its old id after its release, since a read that took its time held up its pass',
    9500361,
  ),
  inFolder('a service was not paused for its volume, which one account read had left out', 10500394),
  inFolder(
    'the answer to a release was not awaited, since the document of its task had gone with others',
    11000363,
  ),
  inFolder(
    'a service was created with a balance of before a stall, and one of after it was known',
    15000069,
    'aimed',
  ),
  inFolder(
    'a task was beaten for without end in a service that was gone with its document, and nobody was told',
    15500050,
    'aimed',
  ),
  inFolder(
    'a volume grew below the floor, since the balance that was read waited for the list of templates beside it',
    1002,
    'forged',
  ),
  inFolder(
    'a service was started with more than what a balance that had been read a moment before left',
    1076,
    'forged',
  ),
  inDialect(
    'what a creation without an answer had made was created again when a replica that lagged did not show it',
    1039,
    'folder',
    plain.name,
  ),
  inDialect(
    'an object with `deletionPolicy: Retain` was forgotten while its creation could still take effect',
    1005,
    'cluster',
    plain.name,
  ),
  inCluster('a task was registered whose activity the API server had refused to write down', 531),
  inCluster('a process that had lost its Lease wrote over what the new leader had written', 563),
  inCluster('a status that somebody had edited, but for its bookkeeping, stayed as it was', 607),
  inDialect(
    'Retry-After of one address was held against a request to another one, with another key',
    1071,
    'folder',
    'ids-upper-case-in-lists',
  ),
  inDialect(
    'Retry-After of one address was held against the account of the environment, in a cluster',
    1038,
    'cluster',
    'nulls-left-out',
  ),
  inDialect(
    'a key was used whose origin was written down nowhere, and the next leader sent it to where a tenant wanted it',
    1036,
    'cluster',
    'region-texts',
  ),
  inDialect(
    'an object whose status was wiped was forgotten with its Account away, and its template stayed',
    1033,
    'cluster',
    'identity-empty',
  ),
  inDialect(
    'an object whose status was wiped waited for an operator, when it was deleted before a pass',
    1039,
    'cluster',
    'volume-provisioned-number',
  ),
  inDialect(
    'a new object was forgotten with the old one of its name, whose finalizer was just taken off',
    1013,
    'cluster',
    'states-upper-case',
  ),
  inDialect(
    'a volume was made below the floor, since the list of templates waited for its turn behind that',
    1017,
    'cluster',
    plain.name,
  ),
  inDialect(
    'a creation that was known not to have happened counted for as long as that was not saved',
    1007,
    'cluster',
    plain.name,
  ),
  inDialect(
    'Ready was held against an image that the API hides, and that somebody had changed',
    1355187,
    'folder',
    'image-hidden',
    'small',
  ),
  inDialect(
    'a correction of values that the API hides, whose answer was lost, waited for an operator',
    1012,
    'cluster',
    'registry-repository-upper-case',
  ),
  inDialect(
    'what became of a resize that the API hides until the service runs waited for a person',
    20001,
    'folder',
    'resources-hidden',
  ),
  inDialect(
    'access to a repository waited for a person who had nothing to go by: which entry it may be was not told',
    20055,
    'folder',
    'registry-repository-hidden',
  ),
  inDialect(
    'what a person said that a creation made stayed when its document was out, and was made again when it was not',
    30003,
    'folder',
    'registry-repository-hidden',
    'small',
  ),
  inDialect(
    'the checker took a price that a life before had written down for unknown, and the world hid again what it had shown',
    1024,
    'cluster',
    plain.name,
  ),
  inDialect(
    'what an API hides of a service was taken to be as declared, though another document had made it',
    7,
    'folder',
    'image-hidden',
  ),
  inDialect(
    'an entry whose repository the API shows in upper case was not found after a creation without an answer, and its object was forgotten',
    20056,
    'folder',
    'registry-repository-upper-case',
  ),
  inDialect(
    'the operator ended when a task was to be looked at while its service was so new that its document had not been taken in',
    31061,
    'cluster',
    'region-tier',
  ),
  inDialect(
    'the checker took a creation for unknown whose thing had been found, since a repetition of it still travelled',
    20046,
    'cluster',
    'template-flag-public',
  ),
  inDialect(
    'the checker took what an object had let go for its own, where the API shows no marks',
    8067,
    'folder',
    'environment-hidden',
  ),
  inDialect(
    'people did not mend a forged status that no process had read yet, and its object waited for them',
    8531,
    'cluster',
    'registry-repository-hidden',
  ),
  inDialect(
    'the checker wanted a doubt to be told still that an edit had ended; a service that fell asleep was taken to have been changed by somebody, since the clock of the next leader was behind',
    1003,
    'cluster',
    'resources-more',
  ),
  inDialect(
    'a volume was renamed three times, and given up, since a lost answer had not shown how the API writes its name',
    1340077,
    'folder',
    'volume-name-upper-case',
    'small',
  ),
  inFolder(
    'the origin of an account was forgotten with a question whose answer a stop had cut off, and its key went elsewhere',
    1343787,
    'small',
  ),
  inFolder('a volume was forgotten whose deletion was lost, when one look did not show it', 1340449, 'small'),
  inDialect(
    'what a creation without an answer had made, and a read had shown before that was settled, was created again when it flapped',
    1342301,
    'folder',
    'environment-map',
    'small',
  ),
  inDialect(
    'a service was created again when it flapped, since a read had shown it before its creation was settled',
    1343556,
    'folder',
    'volume-user-empty',
    'small',
  ),
  inDialect(
    'a volume was created again when it flapped, since a read had shown it before its creation was settled',
    1342101,
    'folder',
    'activity-id-key',
    'small',
  ),
  inDialect(
    'a volume was forgotten when it flapped, since a read had shown it before its creation was settled',
    1342031,
    'folder',
    'environment-objects',
    'small',
  ),
  inFolder(
    'a service was taken as gone that was back in its file, since an older snapshot had waited for a process that stood still',
    1340596,
    'small',
  ),
  inDialect(
    'a template was taken as gone that was back in its file, since an older snapshot had waited for a process that stood still',
    1342584,
    'folder',
    'price-fraction',
    'small',
  ),
  inDialect(
    'nobody deleted a volume that was let go once, and that a later document had lost again before anybody had looked',
    1343961,
    'folder',
    'volume-mode-upper-case',
    'small',
  ),
  inDialect(
    'the world changed an environment that the API hides before anybody could have noticed',
    1340563,
    'folder',
    'environment-hidden',
    'small',
  ),
  inFolder(
    'a volume was made again that its object had left, when that came back before reads showed it',
    500181,
    'small',
  ),
  inFolder(
    'a second volume was made for a price that nobody knew, while the first grew and had not been shown',
    500426,
    'small',
  ),
  inDialect(
    'the checker wanted a process to know where the key of an Account was used that was deleted before it began',
    600033,
    'cluster',
    plain.name,
    'small',
  ),
  inFolder(
    'two requests of one unknown price were under way at once, since one named the geography that the other was to be given',
    501091,
    'small',
  ),
  inFolder(
    'what a creation made whose second copy was refused was left behind, since the object knew the service of before',
    46,
    'forged',
  ),
  inDialect(
    'the world changed a port that the API hides before anybody could have noticed',
    1341935,
    'folder',
    'snake-case',
    'small',
  ),
  inDialect(
    'a service whose status was wiped was taken to have the resources that were declared, since the API hid those that it had',
    2000089,
    'cluster',
    'resources-hidden',
  ),
  inDialect(
    'the world hid what a creation had made of which the second copy was refused',
    41002,
    'cluster',
    plain.name,
  ),
  inDialect(
    'a task got no heartbeat, because its status could not be written, although its registration was',
    2700008,
    'cluster',
    'registry-repository-hidden',
  ),
  inDialect(
    'a process that lost the API server before it had renewed an activity of the process before it let that go stale',
    2700049,
    'cluster',
    'activity-id-key',
  ),
  inDialect(
    'the checker forgot a volume that was let go while the control plane was down',
    2815150,
    'folder',
    'volume-name-hidden',
    'small',
  ),
  inDialect(
    'a restart was delivered twice, and its first copy was refused',
    2817358,
    'folder',
    'geography-list',
    'small',
  ),
  inDialect(
    'an object that was written anew while its finalizer was removed was forgotten with the old one',
    9000042,
    'cluster',
    'region-object',
    'forged',
  ),
  inDialect(
    'a decision of a person was not found on an object that was already being deleted when the process began',
    9000086,
    'cluster',
    'registry-repository-hidden',
    'forged',
  ),
  inDialect(
    'the checker counted what a document with the name of a replica had left as one too many of its fleet',
    9100031,
    'folder',
    'command-text',
    'fleets',
  ),
  inDialect(
    'a template was forgotten without a look for it, since its list could not be read after the state was lost',
    9100051,
    'folder',
    'volume-deletion-201',
    'fleets',
  ),
  inDialect(
    'the checker forgot what a creation had made when it was sent again',
    9100161,
    'cluster',
    plain.name,
    'forged',
  ),
  inDialect(
    'the world wrote an earlier version of a document over a later one, as soon as its old object was gone',
    9300184,
    'cluster',
    plain.name,
    'forged',
  ),
  inDialect(
    'a draining replica whose service was gone stayed, protected by what had been read of it last',
    9400015,
    'folder',
    'sleep-zero',
    'fleets',
  ),
  inDialect(
    'a replica had a service whose storage its fleet does not delete, and nobody was told what to do',
    9500179,
    'folder',
    'volume-status-words',
    'fleets',
  ),
  inDialect('replicas followed a roster that was not durable yet', 20, 'cluster', plain.name, 'fleets'),
  inDialect(
    'a revision that a dead process left was taken for the next one of its number',
    234,
    'cluster',
    'error-nested',
    'fleets',
  ),
  inDialect('a replica that had lost its volume froze a rollout', 239, 'cluster', 'endpoint-list', 'fleets'),
  inDialect(
    'a correction was never sent, since its intent changed what a doubted field meant',
    325,
    'cluster',
    'registry-repository-upper-case',
    'fleets',
  ),
  inDialect(
    'somebody changed an image that the API hides, once more after its correction, and no document was edited after that',
    2683261,
    'folder',
    'image-hidden',
    'small',
  ),
  inDialect(
    'what a volume had left was created again by the next process, since reads lagged behind',
    2684514,
    'folder',
    'activity-texts',
    'small',
  ),
  inDialect(
    'the checker took the last copy of a heartbeat, which came after the release, for a new one',
    2687413,
    'folder',
    'image-full-form',
    'small',
  ),
  inDialect(
    'what a volume had left was awaited for as long as the wall clock was set back before the next process',
    2687181,
    'folder',
    'template-nested',
    'small',
  ),
  inDialect(
    'the world stopped a service after it had changed a port that the API hides, before anybody could have noticed',
    2689305,
    'folder',
    'snake-case',
    'small',
  ),
  inDialect(
    'a full disk lost the outcome of a creation; the time to wait for it counted from the start of the process, and a second thing was made',
    3100009,
    'folder',
    'states-transitional-words',
  ),
  inDialect(
    'a release was acknowledged while its task was held without an account; then the task was wanted again, and got heartbeats under the released id',
    3100101,
    'folder',
    'environment-map',
  ),
  inDialect(
    'a process that did not lead read the list before a heartbeat; it led again and released the activity, and then sent the heartbeat',
    3100009,
    'cluster',
    'states-transitional-words',
  ),
  inDialect(
    'whose account it is was asked in the lane of heartbeats, for a task that was released',
    3100100,
    'cluster',
    'volume-provisioned-object',
  ),
  inDialect(
    'what was seen for seconds, and flapped, was created again by the next leader, whose clock was far ahead',
    3200054,
    'cluster',
    'registry-linked-count',
  ),
  inFolder(
    'the last available replica of a fleet was updated in place of one that somebody works in',
    51,
    'fleets',
  ),
  inFolder('a replica drained for as long as the wall clock had been set back', 83, 'fleets'),
  inFolder(
    'people removed the document of a template after the state was lost, before a process had found it again',
    900042,
    'fleets',
  ),
  inFolder(
    'a fleet took the name and the service of a document that was missed, because its file was empty for a while',
    900034,
    'fleets',
  ),
  inFolder(
    'a replica that drained was found to be unused before it appeared, as its creation had got no answer',
    930007,
    'fleets',
  ),
  inDialect(
    'the checker counted removals of a fleet that was gone together with those of the next one of its name',
    900011,
    'folder',
    'volume-size-texts',
    'fleets',
  ),
  inFolder(
    'a fleet came back while a replica that Retain had left still retired, and later took it for a new one',
    5000507,
    'fleets',
  ),
  inDialect(
    'a rollout failed by its deadline while nothing was under way: somebody worked in the replica that was to leave first',
    940060,
    'folder',
    'sleep-text',
    'fleets',
  ),
];
