// Reports the state of the stores and of the key file after a rotation of the data key was stopped.

import CipherSQLite
import Foundation
import ObjectVault

/// After `slots rotate`: each store is under its former data key or under the new one. The key file opens
/// it in both cases.
struct Rotation: FileStateReport {
  let stores: [String]
  /// The index of the store that is being changed. The stores before it are done.
  let place: Int
  /// The numbers of the data keys that the stores had before.
  let before: [Int?]
  let file: String
  /// The secret of a slot that stays.
  let secret: KeyFile.Unlock
  /// The names of the slots that stay.
  let kept: [String]
  let configuration: Connection.Configuration

  func found() -> String {
    // Opening a store finishes or abandons an interrupted rotation. Only then is it certain which data
    // key the store has.
    let numbers = stores.map { store -> Int? in
      (try? Connection.open(store, key: .keyFile(file, unlock: secret), configuration: configuration))?
        .close()
      let keys = try? KeyFile.open(at: file, unlock: secret)
      return (try? keys?.generation(of: store)) ?? nil
    }
    guard !numbers.contains(nil) else {
      let lines = stores.map { "\(ToolLine("verify", argumentPath($0), "--slots", argumentPath(file)))" }
      return "Check \(stores.count == 1 ? "it" : "them"): \(lines.joined(separator: "; "))"
    }
    return said(renewed: stores.indices.filter { numbers[$0] != before[$0] })
  }

  func stateAfterExit(_ phase: CommitGate.Phase) -> String {
    switch phase {
    case .working, .stopped: said(renewed: Array(0..<place))
    case .committing:
      (place == 0 ? "" : said(renewed: Array(0..<place), isShort: true) + " ")
        + "The commit of \(stores[place]) was in progress. " + always
    case .committed: said(renewed: Array(0...place))
    }
  }

  private func said(renewed places: [Int], isShort: Bool = false) -> String {
    let renewed = places.map { stores[$0] }
    let others = stores.indices.filter { !places.contains($0) }.map { stores[$0] }
    var sentences: [String] = []
    if !renewed.isEmpty {
      sentences.append("\(list(renewed)) \(renewed.count == 1 ? "uses" : "use") the NEW data key.")
      if !isShort { sentences.append(always) }
    }
    if !others.isEmpty, !isShort {
      sentences.append(
        "\(list(others)) \(others.count == 1 ? "opens" : "open") with the slots of \(file), as before.")
    }
    return sentences.joined(separator: " ")
  }

  private var always: String {
    "\(stores.count == 1 ? "It opens" : "All open") with \(kept.count == 1 ? "the slot" : "the slots") "
      + "\(kept.joined(separator: ", ")) of \(file)."
  }

  private func list(_ stores: [String]) -> String { stores.joined(separator: ", ") }
}
