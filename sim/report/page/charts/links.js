// Heat map of the wires: a band for each kind of link from the GPUs outwards, a cell a link.
import { element } from '../dom.js';
import { bandwidth, bytes, number, percent } from '../format.js';

const most_cells = 128;
// nic256_up -> nic#_up
const stem = (name) => name.replace(/\d+/g, '#');

// Links side by side in at most so many cells: a cell of several links shows the busiest.
function cells_of(links) {
  const per_cell = Math.ceil(links.length / most_cells);
  const cells = [];
  for (let i = 0; i < links.length; i += per_cell) {
    const some = links.slice(i, i + per_cell);
    cells.push({ worst: some.reduce((a, b) => (b.utilisation > a.utilisation ? b : a)), links: some.length });
  }
  return cells;
}

export function link_map(report) {
  const bands = new Map();
  for (const link of report.links) {
    const key = `${report.wires.indexOf(link.wire)} ${link.rank < 0 ? 1 : 0} ${stem(link.name)}`;
    if (!bands.has(key)) bands.set(key, []);
    bands.get(key).push(link);
  }
  const natural = (a, b) => a.localeCompare(b, 'en', { numeric: true });
  const keys = [...bands.keys()].sort(natural);
  if (keys.length === 0) return null;
  return element('div', { class: 'bands' }, keys.map((key) => {
    const links = bands.get(key).sort((a, b) => a.rank - b.rank || natural(a.name, b.name));
    const real = links.reduce((sum, link) => sum + link.count, 0);
    const worst = links.reduce((a, b) => (b.utilisation > a.utilisation ? b : a));
    const mean = links.reduce((sum, link) => sum + link.utilisation * link.count, 0) / real;
    const name = `${worst.wire || 'no wire'}: ${stem(worst.name)}`;
    return element('div', { class: 'band' },
      element('div', { class: 'band-name' }, element('b', {}, name),
        element('span', {}, ` ${number(real)} link${real === 1 ? '' : 's'}, ${worst.rank < 0 ? 'shared' : 'ports of GPUs'}; mean ${percent(mean)}, busiest ${worst.name} ${percent(worst.utilisation)}`)),
      element('div', { class: 'cells', role: 'img', 'aria-label': `${name}: busiest ${worst.name} ${percent(worst.utilisation)}` },
        cells_of(links).map(({ worst: link, links: count }) => element('span', {
          class: link.utilisation > 0.7 ? 'cell strong' : 'cell',
          style: `--heat:${(100 * Math.min(1, link.utilisation)).toFixed(1)}%`,
          title: `${link.name}${link.count > 1 ? ` (${number(link.count)} alike)` : ''}${count > 1 ? `, busiest of ${count}` : ''}: ${percent(link.utilisation)} of ${bandwidth(link.capacity_Bps)}, ${bytes(link.bytes)}`,
        }, links.length <= 20 ? element('i', {}, Math.round(100 * link.utilisation)) : null))));
  }), element('p', { class: 'scale', 'aria-hidden': 'true' }, '0 % ', element('span', { class: 'ramp' }), ' 100 % of the link over the step'));
}
