// Offsets count characters; a script counts in units of UTF-16, of which a character beyond the first 65,536 takes two.

/** Turns offsets in characters into offsets in units, and back, within one text. */
export class Offsets {
  constructor(text) {
    this.wide = []; // where, in characters, those stand that take two units
    let seen = 0;
    for (const found of text.matchAll(/[\u{10000}-\u{10FFFF}]/gu)) this.wide.push(found.index - seen++);
  }

  /** How many of the wide characters stand before a place. */
  before(character) {
    let low = 0, high = this.wide.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.wide[middle] < character) low = middle + 1; else high = middle;
    }
    return low;
  }

  units(character) {
    return character + this.before(character);
  }

  characters(unit) {
    let low = 0, high = unit;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.units(middle) < unit) low = middle + 1; else high = middle;
    }
    return low;
  }
}
