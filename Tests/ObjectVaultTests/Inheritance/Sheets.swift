// Classes with stored and computed properties, in a file of their own, because other files cannot set all
// of them.

import Foundation
import ObjectVault

class Sheet: ManagedObject {
  @Attribute var name: String
  @Attribute private(set) var made: Date?
  @ToOne var successor: Sheet?
  @ToMany(inverse: \Sheet.successor) var formers: Set<Sheet>
  /// Equals the name for most names.
  var folded: String { name.replacingOccurrences(of: "ж", with: "") }
  var alias: String { name }
  var caption: String {
    get { name }
    set { name = newValue }
  }
  var next: Sheet? { successor }
}

class Bill: Sheet {
  @Attribute var pages: Int = 1
}

final class Receipt: Bill {}
