package main

// theme is one kind of news. A headline is a subject, an action and a place; a description
// is an opening, one or two details and an outlook. Nobody in them exists, and no
// organisation is named.
type theme struct {
	subjects []string
	actions  []string
	details  []string
	outlooks []string
}

var places = []string{
	"in the capital", "on the northern coast", "in the river valleys", "across the islands",
	"in the old harbour district", "along the eastern border", "in the hill towns", "on the southern plain",
	"near the lake", "in the mining region", "in the university quarter", "at the airport",
	"in the port city", "on the west bank of the river", "in the mountain villages", "around the bay",
}

var openings = []string{
	"It came at the end of a long week",
	"The news arrived shortly before dawn on Tuesday",
	"Few had expected it before the summer",
	"After three days of talks there was no longer any doubt",
	"What began as a minor item on Monday's agenda has become the topic of the week",
	"The decision, first reported by local radio, surprised even insiders",
	"A 40-page report made the difference",
	"Witnesses spoke of a calm but determined mood",
	"The announcement was brief: two sentences and no questions",
	"Officials confirmed it on Friday afternoon",
	"Until last month nobody had thought it possible",
	"It is the second time this year",
}

var themes = []theme{
	{ // politics
		subjects: []string{
			"the president", "parliament", "the opposition", "a cross-party committee", "the foreign minister",
			"the electoral commission", "the vice president", "a coalition of small parties", "the city council",
		},
		actions: []string{
			"delays the vote on pensions", "promises a new housing law", "rejects the border deal",
			"calls for talks without conditions", "opens an inquiry into campaign funding",
			"backs down over the fuel tax", "wins a narrow majority", "seeks a second term",
			"signs the water treaty", "faces questions on the budget",
		},
		details: []string{
			"The president's office said that the text would be published \"in full & without delay\".",
			"Two amendments failed by fewer than five votes.",
			"Protesters gathered outside with drums, umbrellas and hand-painted signs.",
			"Diplomats described the draft as a compromise that nobody loves and everybody can sign.",
			"The Treasury puts the cost at 1.4 billion over four years.",
			"Critics call it a step back; supporters say that it is the only step there is.",
			"Regional leaders had asked for more time, and for more money.",
			"A spokeswoman would not say whether the minister had offered to resign.",
		},
		outlooks: []string{
			"A second reading is due before Easter.", "The president is expected to speak on Thursday evening.",
			"Voters will have the last word in November.", "Talks resume on Monday.",
			"The court has six weeks to rule.", "Neither side ruled out an early election.",
		},
	},
	{ // economy
		subjects: []string{
			"the central bank", "the bond market", "the housing market", "a group of pension funds", "the currency",
			"retail sales", "the stock market", "shipping costs", "small manufacturers", "the price of copper",
		},
		actions: []string{
			"falls to a three-year low", "recovers faster than forecast", "defies gloomy forecasts",
			"shrugs off the rate rise", "loses ground for a fifth day", "braces for a slow quarter",
			"steadies after a week of losses", "surprises analysts again", "shows the first signs of cooling",
		},
		details: []string{
			"Economists polled on Monday had expected the opposite.",
			"The market had priced in a cut of a quarter of a point.",
			"Unemployment stayed at 5.2%, while wages rose slightly faster than prices.",
			"Exporters blame a strong currency & full warehouses.",
			"Order books are thinner than a year ago, but nobody speaks of a crisis.",
			"Traders said that volumes were low and nerves were high.",
			"Food prices account for almost half of the difference.",
			"One in four firms plans to hire before the autumn.",
		},
		outlooks: []string{
			"The next figures are due on the 14th.", "Analysts advise patience.",
			"Much depends on the price of energy.", "The market opens again on Tuesday after the holiday.",
			"A recession, most agree, is unlikely.", "The bank will publish its minutes in two weeks.",
		},
	},
	{ // weather
		subjects: []string{
			"a winter storm", "the first storm of the season", "heavy rain", "a late frost", "a record heatwave",
			"dense fog", "a tropical storm", "a spring flood", "the longest drought in decades",
		},
		actions: []string{
			"cuts power to thousands", "closes roads and schools", "moves slower than feared",
			"leaves farmers counting losses", "tests the new flood barriers", "brings ferries to a halt",
			"catches forecasters off guard", "turns streets into streams", "weakens before landfall",
		},
		details: []string{
			"Crews worked through the night to clear fallen trees from the tracks.",
			"Gusts of 130 km/h were measured at the lighthouse.",
			"The Meteorological Service raised its warning to ORANGE at noon.",
			"No injuries were reported, though several roofs were lost to the storm.",
			"Some 12,000 households were without electricity at midnight.",
			"Volunteers filled sandbags in the school yard while bakeries handed out bread.",
			"Reservoirs stand at a third of their usual level.",
			"Trains run hourly instead of every ten minutes.",
		},
		outlooks: []string{
			"Calmer weather is forecast for the weekend.", "A second storm is forming out at sea.",
			"Schools hope to open again on Wednesday.", "Insurers expect thousands of claims.",
			"Residents are asked to stay at home.", "The rivers should crest on Sunday night.",
		},
	},
	{ // science
		subjects: []string{
			"a deep-sea robot", "a team of astronomers", "a new vaccine", "a forgotten fossil", "a small satellite",
			"a quantum clock", "the largest radio telescope", "a bacterium from a hot spring", "an ice core",
		},
		actions: []string{
			"solves a riddle from 1911", "finds water where none was expected", "passes its first large trial",
			"rewrites the history of whales", "maps the sea floor in a week", "survives its longest test",
			"hints at a second asteroid belt", "breaks plastic down in days", "sends back its first pictures",
		},
		details: []string{
			"The results, published on Wednesday, rest on eleven years of measurements.",
			"\"We checked the cables three times\", one of the researchers said.",
			"The topic had been considered closed since the 1980s.",
			"Independent groups on two continents repeated the experiment.",
			"The instrument is no larger than a shoebox and costs less than a family car.",
			"Samples are kept at -80 \u00b0C in a basement below the institute.",
			"The data are free for anybody to download & use.",
			"Not everybody is convinced: the margin of error is still wide.",
		},
		outlooks: []string{
			"A larger study begins in the autumn.", "The next launch window opens in March.",
			"The team now wants to look deeper.", "Whether it works outside the laboratory is an open question.",
			"Funding is secured until 2031.", "Textbooks may have to wait a little longer.",
		},
	},
	{ // sport
		subjects: []string{
			"the home side", "an unseeded teenager", "the defending champions", "the women's relay team",
			"a 41-year-old goalkeeper", "the national team", "an amateur crew", "the league's smallest club",
		},
		actions: []string{
			"wins after extra time", "throws away a three-goal lead", "reaches the final at last",
			"breaks a record from 1988", "stuns the favourites", "survives a storm of late attacks",
			"goes out on penalties", "takes gold by a hundredth", "ends a run of 19 defeats",
		},
		details: []string{
			"The equaliser came with the last kick of the match.",
			"More than 30,000 people sang in the rain until the lights went out.",
			"The coach called it \"the quietest dressing room I have ever loved\".",
			"Two players left injured before half-time.",
			"The video referee needed six minutes, and the crowd let everybody know.",
			"It was the club's first away win since September.",
			"Training had been moved indoors because of the heat.",
			"The president of the club danced on the touchline.",
		},
		outlooks: []string{
			"The return leg is played on Saturday.", "A draw would now be enough.",
			"The transfer market closes at midnight.", "The semi-finals begin on Thursday.",
			"Tickets sold out within the hour.", "Nobody talks about relegation any more.",
		},
	},
	{ // culture
		subjects: []string{
			"a lost manuscript", "the city's oldest cinema", "a street musician", "a travelling circus",
			"a village choir", "the national museum", "a children's opera", "a small publishing house",
		},
		actions: []string{
			"draws crowds at any hour", "finds a home after 60 years", "returns with a bold programme",
			"opens its archive to everybody", "sells out in nine minutes", "divides the critics",
			"wins the prize that nobody expected", "is saved by its neighbours", "goes on tour by train",
		},
		details: []string{
			"Visitors queue around the block with folding chairs & thermos flasks.",
			"The caf\u00e9 next door has never been so busy, its owner says.",
			"The curator found it behind a radiator, wrapped in newspaper.",
			"Entry is free on the first Sunday of the month.",
			"Reviewers were split: \"a triumph\", wrote one; \"three hours too long\", wrote another.",
			"It was the topic of every conversation at the book fair.",
			"The restoration took four years and 700 litres of paint.",
			"Most of the performers had never been on a stage before.",
		},
		outlooks: []string{
			"The season runs until the end of June.", "A film is in preparation.",
			"Further dates will be announced soon.", "The exhibition closes in May.",
			"A translation is to follow next year.", "The organisers hope for a second edition.",
		},
	},
	{ // technology
		subjects: []string{
			"a cheap battery", "the new rail signalling system", "an open map project", "a repair-it-yourself telephone",
			"the digital identity card", "a fleet of electric buses", "a chip the size of a grain of rice",
			"the public broadband network", "a home-made weather station",
		},
		actions: []string{
			"passes a decisive test", "runs a year late", "doubles its range in the cold",
			"goes down for six hours", "finds unlikely friends in parliament", "beats the market leader on price",
			"gets its first security review", "learns to share the road", "halves the waiting time",
		},
		details: []string{
			"Engineers traced the fault to a certificate that had expired at 02:00 UTC.",
			"The source code fits on two printed pages.",
			"Privacy groups asked for an audit by somebody who is not paid for the answer.",
			"It works without the Internet, and without instructions.",
			"The first 500 units went to hospitals and fire stations.",
			"Old devices will be supported for another ten years.",
			"The prototype was built from parts that anybody can buy at the market.",
			"A recall is not planned; a software update is.",
		},
		outlooks: []string{
			"A public trial starts in October.", "Prices should fall within two years.",
			"The regulator wants to see the figures first.", "The next version is already in the workshop.",
			"Other cities are watching closely.", "The vice president in charge promised a full account.",
		},
	},
	{ // daily life
		subjects: []string{
			"a night market", "the last lighthouse keeper", "a school garden", "the ferry to the islands",
			"a community bakery", "the fire brigade", "a lost dog", "the new bicycle bridge", "a flock of sheep",
		},
		actions: []string{
			"brings traffic to a standstill", "celebrates its hundredth birthday", "becomes a minor celebrity",
			"reopens after two winters", "turns into a lesson in patience", "gets an unexpected visitor",
			"wins over the sceptics", "saves an old tradition", "makes the neighbours friends",
		},
		details: []string{
			"Children were given the morning off to see for themselves.",
			"The mayor came by bicycle and left by tractor.",
			"\"In 30 years I have not seen the like\", said a woman from across the road.",
			"Somebody had written THANK YOU in chalk along the whole street.",
			"The storm of last winter had damaged the roof & both doors.",
			"By noon the soup had run out; by one o'clock a second pot was on the fire.",
			"The photograph was shared 80,000 times in a day.",
			"The bill, the council says, will be paid by everybody and by nobody.",
		},
		outlooks: []string{
			"There will be cake on Sunday.", "The police closed the file with a smile.",
			"Next year it is to be twice as large.", "The topic is on the agenda again next week.",
			"Donations are still welcome.", "A name has yet to be found.",
		},
	},
}
