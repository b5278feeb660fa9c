// Pieces of messages: names that are near a mistyped one, counts, step numbers. Texts of others are in LegibleText.swift.

/// A reason as a sentence: with a full stop, unless it has one, or ends with a question.
package func ended(_ reason: String) -> String {
  reason.hasSuffix("?") || reason.hasSuffix(".") ? reason : "\(reason)."
}

/// Asks for the names that may have been meant, each in quotes, so that its own signs are not taken for the sentence's.
/// - Returns: nil when there are none.
package func didYouMean(_ names: [String]) -> String? {
  names.isEmpty ? nil : "did you mean \(names.map { "\"\($0)\"" }.joined(separator: " or "))?"
}

/// The names nearest to a mistyped one, for ``didYouMean(_:)``.
package func nearest(_ name: String, among names: some Sequence<String>) -> [String] {
  guard name.utf8.count <= 200 else { return [] }
  let limit = max(2, name.count / 3)
  return names.map { ($0, editDistance($0.lowercased(), name.lowercased())) }
    .filter { $0.1 <= limit || $0.0.lowercased().hasPrefix(name.lowercased()) }
    .sorted { $0.1 < $1.1 }.prefix(3).map(\.0)
}

/// Levenshtein's distance: how many characters have to be put in, taken out or replaced.
package func editDistance(_ left: String, _ right: String) -> Int {
  let (a, b) = (Array(left), Array(right))
  var row = Array(0...b.count)
  for (i, character) in a.enumerated() {
    var diagonal = row[0]
    row[0] = i + 1
    for (j, other) in b.enumerated() {
      let cost = min(row[j + 1] + 1, row[j] + 1, diagonal + (character == other ? 0 : 1))
      diagonal = row[j + 1]
      row[j + 1] = cost
    }
  }
  return row[b.count]
}

/// A step's number as it stands in file names.
package func numbered(_ step: Int) -> String {
  let digits = String(step)
  return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
}

/// A text with a count in it, as it is written of one and of several: `%d objects of A have` becomes `1 object of A has`, and
/// `%d values of A(b, c) are` becomes `1 value of A(b, c) is`.
func counted(_ text: String, _ count: Int) -> String {
  let verbs = ["have": "has", "lack": "lacks", "are": "is", "lead": "leads"]
  let pattern = #/%d (object|value|pair)s( of \w+(?:\([^)]*\))?)? (have|lack|are|would|lead)\b/#
  let one = text.replacing(pattern, maxReplacements: 1) { match in
    let verb = String(match.3)
    return "%d \(match.1)\(match.2 ?? "") \(verbs[verb] ?? verb)"
  }
  return (count == 1 ? one : text).replacing("%d", with: "\(count)")
}

/// Room on a disk, in the unit that shows it.
/// - Parameter isUp: What is needed is rounded up, and what is free down: two numbers that differ shall not read alike.
func diskSize(_ bytes: Int, up isUp: Bool) -> String {
  let (unit, name) = bytes < 10_000_000 ? (1000, "kB") : (1_000_000, "MB")
  return "\((bytes + (isUp ? unit - 1 : 0)) / unit) \(name)"
}

/// Losses as a person reads them, in one line.
/// - Parameter emptied: The to-manys that losses leave without members.
func lossText(_ losses: [String], _ emptied: [String: [String]]) -> String {
  losses.map { lossText($0, emptied) }.joined(separator: ", ")
}

/// A loss as a person reads it.
/// - Parameter emptied: The to-manys that losses leave without members.
func lossText(_ loss: String, _ emptied: [String: [String]]) -> String {
  emptied[loss].map { "\(loss) (which empties \($0.joined(separator: ", ")))" } ?? loss
}
