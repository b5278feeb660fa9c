// How a list of objects differs from the list before: for views that show it.

/// How the result of a live request differs from the result before, by positions.
///
/// To change the former list into the new one, remove the elements at ``deletions`` and at
/// ``Move/from`` of each move, from the last to the first, and then insert those at ``insertions`` and at
/// ``Move/to``, from the first to the last. Views of lists take the parts in this form.
public struct LiveDifference: Sendable, Hashable {
  /// An element at another place among the elements that stayed.
  public struct Move: Sendable, Hashable {
    /// The position in the former list.
    public let from: Int
    /// The position in the new list.
    public let to: Int
  }

  /// The positions of elements that are not in the new list, in the former list, ascending.
  public internal(set) var deletions: [Int] = []
  /// The positions of elements that were not in the former list, in the new list, ascending.
  public internal(set) var insertions: [Int] = []
  /// The elements that changed their places, by ascending position in the new list.
  public internal(set) var moves: [Move] = []
  /// The positions of elements whose values may have changed, in the new list, ascending; moved ones, too.
  public internal(set) var updates: [Int] = []

  /// Whether nothing differs.
  public var isEmpty: Bool {
    deletions.isEmpty && insertions.isEmpty && moves.isEmpty && updates.isEmpty
  }

  init() {}

  /// Compares two lists of ids.
  /// - Parameter isUpdated: Whether an element that is in both lists has changed, by its positions in the
  ///   former and in the new list.
  init(from old: [Int64], to new: [Int64], isUpdated: (_ former: Int, _ new: Int) -> Bool) {
    var start = 0
    let shorter = min(old.count, new.count)
    while start < shorter, old[start] == new[start] { start += 1 }
    var end = 0
    while end < shorter - start, old[old.count - 1 - end] == new[new.count - 1 - end] { end += 1 }
    let (oldMiddle, newMiddle) = (start..<(old.count - end), start..<(new.count - end))
    var places = Dictionary(
      oldMiddle.map { (old[$0], $0) }, uniquingKeysWith: { first, _ in first })
    var kept: [(from: Int, to: Int)] = []
    for index in newMiddle {
      if let from = places.removeValue(forKey: new[index]) {
        kept.append((from, index))
      } else {
        insertions.append(index)
      }
    }
    deletions = places.values.sorted()
    let staying = Self.longestRun(kept.map(\.from))
    for (index, pair) in kept.enumerated() where !staying.contains(index) {
      moves.append(Move(from: pair.from, to: pair.to))
    }
    for index in 0..<start where isUpdated(index, index) { updates.append(index) }
    for pair in kept where isUpdated(pair.from, pair.to) { updates.append(pair.to) }
    for index in newMiddle.upperBound..<new.count
    where isUpdated(index - new.count + old.count, index) {
      updates.append(index)
    }
  }

  /// Compares two lists whose elements have not changed, for tests.
  package static func forTests(from old: [Int64], to new: [Int64]) -> LiveDifference {
    LiveDifference(from: old, to: new) { _, _ in false }
  }

  /// Returns the indexes of a longest ascending run of numbers.
  static func longestRun(_ numbers: [Int]) -> Set<Int> {
    // The last index of the best run of each length, and the index before each in its run.
    var last: [Int] = []
    var before = [Int](repeating: -1, count: numbers.count)
    for (index, number) in numbers.enumerated() {
      var (low, high) = (0, last.count)
      while low < high {
        let middle = (low + high) / 2
        if numbers[last[middle]] < number { low = middle + 1 } else { high = middle }
      }
      if low > 0 { before[index] = last[low - 1] }
      if low == last.count { last.append(index) } else { last[low] = index }
    }
    var run: Set<Int> = []
    var index = last.last ?? -1
    while index >= 0 {
      run.insert(index)
      index = before[index]
    }
    return run
  }
}
