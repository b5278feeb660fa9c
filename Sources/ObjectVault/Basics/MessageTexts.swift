// Parts of messages: suggestions for mistyped names, counts, step numbers, sizes. LegibleText.swift
// handles untrusted text.

/// Returns a reason as a sentence: adds a full stop, unless the reason ends with a full stop or a
/// question mark.
package func ended(_ reason: String) -> String {
  reason.hasSuffix("?") || reason.hasSuffix(".") ? reason : "\(reason)."
}

/// Returns the question "did you mean …?". Each name is in quotes, so that its own punctuation is not
/// read as part of the sentence.
/// - Returns: The question, or nil for an empty list.
package func didYouMean(_ names: [String]) -> String? {
  names.isEmpty ? nil : "did you mean \(names.map { "\"\($0)\"" }.joined(separator: " or "))?"
}

/// Returns up to three of `names` that are similar to a mistyped name, for ``didYouMean(_:)``.
package func nearest(_ name: String, among names: some Sequence<String>) -> [String] {
  guard name.utf8.count <= 200 else { return [] }
  let limit = max(2, name.count / 3)
  return names.map { ($0, editDistance(from: $0.lowercased(), to: name.lowercased())) }
    .filter { $0.1 <= limit || $0.0.lowercased().hasPrefix(name.lowercased()) }
    .sorted { $0.1 < $1.1 }.prefix(3).map(\.0)
}

/// Returns the Levenshtein distance: the number of characters to insert, delete or replace.
package func editDistance(from left: String, to right: String) -> Int {
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

/// Returns a step's number as file names have it: with at least four digits.
package func numbered(_ step: Int) -> String {
  let digits = String(step)
  return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
}

/// Replaces `%d` by a count, with the singular for the count 1: `%d objects of A have` becomes
/// `1 object of A has`, and `%d values of A(b, c) are` becomes `1 value of A(b, c) is`.
func counted(_ text: String, _ count: Int) -> String {
  let verbs = ["have": "has", "lack": "lacks", "are": "is", "occur": "occurs", "refer": "refers"]
  let pattern = #/%d (object|value|pair)s( of \w+(?:\([^)]*\))?)? (have|lack|are|would|occur|refer)\b/#
  let one = text.replacing(pattern, maxReplacements: 1) { match in
    let verb = String(match.3)
    return "%d \(match.1)\(match.2 ?? "") \(verbs[verb] ?? verb)"
  }
  return (count == 1 ? one : text).replacing("%d", with: "\(count)")
}

/// Returns an amount of disk space in kB or MB.
/// - Parameter isUp: Whether to round up. Needed space is rounded up and free space down, so that two
///   different amounts do not look equal.
func diskSize(_ bytes: Int, up isUp: Bool) -> String {
  let (unit, name) = bytes < 10_000_000 ? (1000, "kB") : (1_000_000, "MB")
  return "\((bytes + (isUp ? unit - 1 : 0)) / unit) \(name)"
}

/// Lists losses in one line of a message.
/// - Parameter emptied: For each loss, the to-many relationships that it leaves without members.
func lossText(_ losses: [String], _ emptied: [String: [String]]) -> String {
  losses.map { lossText($0, emptied) }.joined(separator: ", ")
}

/// Describes one loss in a message.
/// - Parameter emptied: For each loss, the to-many relationships that it leaves without members.
func lossText(_ loss: String, _ emptied: [String: [String]]) -> String {
  emptied[loss].map { "\(loss) (which empties \($0.joined(separator: ", ")))" } ?? loss
}
