/** Elements of the page: made once, changed where something did. Texts are set as text, never as HTML. */

/** @typedef {Record<string, string | number | boolean | undefined>} Attributes */

const SVG = 'http://www.w3.org/2000/svg';

/**
 * @param {Element} element
 * @param {Attributes} attributes
 */
export function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) element.removeAttribute(name);
    else {
      const text = value === true ? '' : String(value);
      if (element.getAttribute(name) !== text) element.setAttribute(name, text);
    }
  }
}

/**
 * An element of HTML.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} [attributes]
 * @param {(Node | string)[]} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function html(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  set(element, attributes);
  element.append(...children);
  return element;
}

/**
 * An element of SVG.
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} [attributes]
 * @param {(Node | string)[]} children
 * @returns {SVGElementTagNameMap[Tag]}
 */
export function svg(tag, attributes = {}, ...children) {
  const element = /** @type {SVGElementTagNameMap[Tag]} */ (document.createElementNS(SVG, tag));
  set(element, attributes);
  element.append(...children);
  return element;
}

/** @param {string} id */
export function byId(id) {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`the page lacks #${id}`);
  return element;
}

/**
 * @param {Element} element
 * @param {string} text
 */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * Has a parent hold one element for each item, in order; those of known keys are kept, with their focus.
 * @template T
 * @param {Element} parent
 * @param {readonly T[]} items
 * @param {(item: T) => string} keyOf
 * @param {(item: T) => HTMLElement} make
 * @param {(element: HTMLElement, item: T) => void} update
 */
export function each(parent, items, keyOf, make, update) {
  const known = new Map(
    [...parent.children].map((child) => [/** @type {HTMLElement} */ (child).dataset.key, child]),
  );
  /** @type {Element | null} */
  let next = parent.firstElementChild;
  for (const item of items) {
    const key = keyOf(item);
    let element = /** @type {HTMLElement | undefined} */ (known.get(key));
    known.delete(key);
    if (element === undefined) {
      element = make(item);
      element.dataset.key = key;
    }
    update(element, item);
    if (element === next) next = next.nextElementSibling;
    else parent.insertBefore(element, next);
  }
  for (const child of known.values()) child.remove();
}

/**
 * The part of an element that has a name.
 * @param {Element} element
 * @param {string} name
 */
export function part(element, name) {
  const found = element.querySelector(`[data-part="${name}"]`);
  if (found === null) throw new Error(`an element lacks its part ${name}`);
  return /** @type {HTMLElement} */ (found);
}
