// Elements without a framework.
export function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else if (key === 'style') node.style.cssText = value;
    else node.setAttribute(key, value === true ? '' : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) node.append(child);
  }
  return node;
}

let sections = 0;
export function section(title, about, ...children) {
  const id = `section-${(sections += 1)}`;
  return element('section', { 'aria-labelledby': id },
    element('h2', { id }, title), about && element('p', { class: 'about' }, about), children);
}

// Columns: [title, "left" | "right"]; rows: lists of cells (text or nodes). Scrolls sideways when it is too wide.
export function table(caption, columns, rows) {
  const cell = (tag, value, i) => element(tag, { class: columns[i][1] ?? 'right', scope: tag === 'th' ? 'col' : undefined }, value);
  return element('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': caption },
    element('table', {}, element('caption', {}, caption),
      element('thead', {}, element('tr', {}, columns.map((c, i) => cell('th', c[0], i)))),
      element('tbody', {}, rows.map((row) => element('tr', {}, row.map((value, i) => cell('td', value, i)))))));
}

export const more = (summary, ...children) => element('details', {}, element('summary', {}, summary), children);

// The first `most` rows, the others behind a summary.
export function long_table(caption, columns, rows, most = 16) {
  if (rows.length <= most + 4) return [table(caption, columns, rows)];
  return [table(caption, columns, rows.slice(0, most)),
    more(`${rows.length - most} more rows`, table(`${caption}, continued`, columns, rows.slice(most)))];
}
