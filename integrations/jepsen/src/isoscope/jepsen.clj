(ns isoscope.jepsen
  "A Jepsen checker that asks isoscope, and answers in the words of Elle.

  The history is written as EDN to the test's store directory, `isoscope check --edn` is run on it, and the map that it
  prints is the result: `:valid?`, `:anomaly-types`, `:anomalies` and `:not`, with all levels under `:isoscope`. The page
  that explains it stands beside the history.

    (checker/compose {:elle     (list-append/checker)
                      :isoscope (isoscope.jepsen/checker {:levels [\"ser-nosession\"]})})"
  (:require [clojure.edn :as edn]
            [clojure.java.io :as io]
            [clojure.java.shell :as shell]
            [clojure.string :as str]
            [jepsen.checker :as checker]
            [jepsen.store :as store]))

(def models
  "Elle's models, and the levels of isoscope that say the same."
  {:read-uncommitted                  "pl1"
   :strong-session-read-uncommitted   "ru"
   :read-committed                    "pl2"
   :read-atomic                       "ra"
   :update-atomic                     "ua"
   :causal-cerone                     "cc"
   :prefix                            "pc"
   :parallel-snapshot-isolation       "psi"
   :snapshot-isolation                "si-nosession"
   :strong-session-snapshot-isolation "si"
   :strong-snapshot-isolation         "ssi"
   :repeatable-read                   "ser-nosession"
   :serializable                      "ser-nosession"
   :strong-session-serializable       "ser"
   :strict-serializable               "sser"
   :strong-serializable               "sser"})

(defn level
  "The level of a model, which may be a level of isoscope already."
  [model]
  (or (get models model) (name model)))

(defn write-history!
  "Writes a history as isoscope reads it: an operation a line."
  [file history]
  (with-open [out (io/writer file)]
    ;; All of it, whatever the REPL of the user shortens.
    (binding [*out* out, *print-length* nil, *print-level* nil, *print-namespace-maps* false]
      (doseq [op history]
        (prn (select-keys op [:index :time :type :process :f :value])))))
  file)

(defn ask
  "Runs isoscope on a file. Exit codes: 0 holds, 1 violated, 2 the question could not be asked, 3 unknown."
  [{:keys [program levels timeout initial]
    :or   {program "isoscope" timeout "10m"}}
   file page]
  (let [words (concat [program "check" (str file) "--edn" "--timeout" timeout "--report" (str page)]
                      (when (seq levels) ["--level" (str/join "," (map level levels))])
                      (when initial ["--initial" (str initial)]))
        {:keys [exit out err]} (apply shell/sh words)]
    (if (and (contains? #{0 1 3} exit) (not (str/blank? out)))
      (edn/read-string out)
      {:valid? :unknown, :error (str/trim err), :exit exit})))

(defn checker
  "A checker. Options: `:levels`, Elle's models or names of isoscope; `:initial`, what registers hold at first;
  `:timeout`, such as \"10m\"; and `:program`, if isoscope is not on the path."
  ([] (checker {}))
  ([opts]
   (reify checker/Checker
     (check [_ test history checker-opts]
       (let [path #(store/path! test (:subdirectory checker-opts) %)
             file (write-history! (path "isoscope.edn") history)]
         (ask opts file (path "isoscope.html")))))))
